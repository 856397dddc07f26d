show cut.etdp
