show two_delegates.etdp
