show delegate_id_zero.etdp --format csv
