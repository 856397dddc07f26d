show wrong_identifier.etdp
