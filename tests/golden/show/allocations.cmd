show allocations.etdp
