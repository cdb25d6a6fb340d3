# Pages: figures, claims and tables -> a folder that a web server shows, or a browser from a disk.

GALLERY = "<results>/gallery"
CLAIMS = rules.judge_claims.output.table if JUDGED and BESIDE_PUBLISHED else []


def source(table, paths):
    """Where a reader finds a table that a figure is drawn from, in the study's folder."""
    found = [f"measures/{table}.csv"] if table in MEASURES else paths
    return [path.removeprefix("<results>/") for path in found]


# Of t-SNE there are too many points to copy.
HUNG = [
    {
        "name": name,
        "module": figure.get("module", name),
        "category": figure["category"],
        "tables": [path for each in figure["tables"].items() for path in source(*each)],
        "published": figure.get("published", []),
        "copied": figure.get("module", name) != "projection",
    }
    for name, figure in FIGURES.items()
]


rule show_gallery:
    input:
        images=expand("<results>/figures/{name}.png", name=FIGURES),
        points=expand("<results>/figures/{name}.csv", name=FIGURES),
        captions=[
            f"docs/captions/{figure.get('caption', name)}.rst"
            for name, figure in FIGURES.items()
        ],
        claims=CLAIMS,
        templates=[
            f"bottomup/pages/{file}"
            for file in ("gallery.html", "gallery.js", "pages.css")
        ],
    output:
        page=f"{GALLERY}/index.html",
        images=[f"{GALLERY}/images/{each['name']}.webp" for each in HUNG],
        points=[
            f"{GALLERY}/points/{each['name']}.csv" for each in HUNG if each["copied"]
        ],
    log:
        "<logs>/show_gallery.log",
    benchmark:
        "<benchmarks>/show_gallery.tsv"
    priority: 30
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        settings=SLICES.show_gallery(HUNG),
    shell:
        """
        python scripts/show_gallery.py --settings {params.settings:q} \
            --images {input.images:q} --points {input.points:q} \
            --captions {input.captions:q} --claims {input.claims:q} \
            --page {output.page:q} &>{log:q}
        """
