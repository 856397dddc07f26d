show delegate_id_zero.etdp
