"""Parameter studies: many motions of one system, over a design of parameters and starts, and what is kept of each.

| file                  | holds                                                                          |
|-----------------------|--------------------------------------------------------------------------------|
| designs.py            | grids, lists, random and Latin hypercube designs; distributions                |
| reductions.py         | one number of a column over time: max, mean, rms, crossing, ...                |
| sample_columns.py     | the columns that outputs may name, of a batch of motions or of a run           |
| output_expressions.py | outputs: expressions of columns and reductions, or functions of a run          |
| description.py        | a whole study: what is computed, checked; what makes it the same as another    |
| chunks.py             | the motions of one chunk: assembled, simulated, measured; why some failed      |
| stores.py             | results in memory, or in a Zarr store that is written region by region         |
| cluster.py            | chunks as tasks of a Dask cluster                                              |
| study.py              | `momentree.study`                                                              |
| study_files.py        | the [study] table of a file                                                    |
"""
