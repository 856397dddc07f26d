show two_delegates.etdp --all
