FROM debian:12
ENV PATH="$PATH:/opt/bin" LD_LIBRARY_PATH=/opt/lib:${LD_LIBRARY_PATH}
ENV A=$A$B C=\$A D='$A' E="\$A" F=a$ G=$. H="100%"
