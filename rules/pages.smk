# Pages: figures, claims and tables -> the site of the study, which a browser opens from a disk.


# Tables with curves over the layers; and those of them that the explorer shows, in the order of the
# figures that draw them.
OVER_LAYERS = [name for name, table in TABLES.items() if table.over_layers]
DRAWN = [table for figure in FIGURES.values() for table in figure.tables]
EXPLORED = [
    name
    for name in dict.fromkeys([*DRAWN, *OVER_LAYERS])
    if name in OVER_LAYERS and MEASURES[name]
]
ON_PAGE = [
    {
        "name": name,
        "module": figure.module,
        "category": figure.category,
        "tables": [
            path for each in figure.tables.items() for path in files_of_table(*each)
        ],
        "explored": [table for table in figure.tables if table in EXPLORED],
        "published": list(figure.published),
    }
    for name, figure in FIGURES.items()
]


rule show_index:
    input:
        images=expand("<results>/figures/{name}.png", name=FIGURES),
        points=expand("<results>/figures/{name}.csv", name=FIGURES),
        captions=[f"docs/captions/{figure.caption}.rst" for figure in FIGURES.values()],
        splits="<results>/corpus/splits.csv",
        claims=CLAIMS,
        templates=template_files("index.html"),
    output:
        page="<results>/index.html",
        images=expand("<results>/site/{name}.webp", name=FIGURES),
    log:
        "<logs>/show_index.log",
    benchmark:
        "<benchmarks>/show_index.tsv"
    priority: 30
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        settings=SLICES.show_index(ON_PAGE),
    shell:
        """
        python scripts/show_index.py --settings {params.settings:q} \
            --images {input.images:q} --points {input.points:q} \
            --captions {input.captions:q} --splits {input.splits:q} \
            --claims {input.claims:q} --light {output.images:q} \
            --page {output.page:q} &>{log:q}
        """


rule show_explorer:
    input:
        tables=expand("<results>/measures/{name}.csv", name=EXPLORED),
        heads=HEADS,
        attention=expand(
            "<results>/measures/attention/{run}.parquet",
            run=MEASURES["attention"] if HEADS else [],
        ),
        beliefs=expand(
            "<results>/measures/beliefs/{run}.parquet", run=MEASURES["beliefs"]
        ),
        projection=(
            "<results>/measures/projection.csv" if MEASURES["projection"] else []
        ),
        text="<results>/corpus/test.parquet",
        tokenizer=f"<results>/corpus/tokenizer.{'words' if ROWS == 'words' else 'source'}.json",
        claims=CLAIMS,
        templates=template_files("explorer.html", "svg.html"),
    output:
        page="<results>/explorer.html",
        library="<results>/site/vega.js",
    log:
        "<logs>/show_explorer.log",
    benchmark:
        "<benchmarks>/show_explorer.tsv"
    priority: 30
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        settings=SLICES.show_explorer(),
    shell:
        """
        python scripts/show_explorer.py --settings {params.settings:q} \
            --tables {input.tables:q} --heads {input.heads:q} \
            --attention {input.attention:q} --beliefs {input.beliefs:q} \
            --projection {input.projection:q} --text {input.text:q} \
            --tokenizer {input.tokenizer:q} --claims {input.claims:q} \
            --page {output.page:q} --library {output.library:q} &>{log:q}
        """
