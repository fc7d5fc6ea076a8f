FROM Registry.example/Team:Model:1
RUN make
