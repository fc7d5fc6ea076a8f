FROM debian:12
ENV A=1 B="two words" C='single $A' D=es\ caped E= F=""
