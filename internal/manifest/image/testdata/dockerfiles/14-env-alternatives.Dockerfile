FROM debian:12
ENV A=${X:-default} B=${X-it\'s} C="${X:+yes}" D=${X+} E=${X:-${Y:-"a } b"}} F="${X:-\"q\"}"
