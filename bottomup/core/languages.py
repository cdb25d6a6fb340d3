"""Codes of languages: one for each, that of two letters where there is one."""

from icu4py.locale import Locale

# What ICU leaves of the aliases of Unicode's CLDR: codes of bibliographies, codes that are gone,
# and the varieties that a code of two letters means where nothing else is said.
OTHERS = (
    "ak:fat ar:arb ay:ayr az:azj bo:tib cr:cwd cs:cze cy:wel de:ger dz:adp el:gre et:ekk "
    "eu:baq fa:drw,per,pes,prs,tnf ff:fuc fr:fre gn:gug gu:prp hr:scr hy:arm ik:esk is:ice iu:ike "
    "ka:geo kg:kng kr:knc ku:kmr kv:kpv lv:lvs mg:plt mi:mao mk:mac mn:drh,khk ms:may,zsm my:bur "
    "ne:npi nl:dut oj:ojg om:gaz or:ory ps:pbu qu:quz ro:rum sa:cls sc:src sk:slo sq:alb,als "
    "sr:cnr,hbs,scc sw:swc,swh uz:uzn yi:ydd za:zyb zh:chi,cmn"
)
SHORT = {
    other: short
    for short, others in (of.split(":") for of in OTHERS.split())
    for other in others.split(",")
}


def canonical(language: str) -> str:
    """The code by which a language is known here, with its region: zh for zho, chi and cmn."""
    code, *region = language.split("_")
    return "_".join([SHORT.get(code, Locale(code).language), *region])


def short(language: str) -> str:
    """`language`, if it is the code by which it is known."""
    if (code := canonical(language)) != language:
        raise ValueError(f"allowed: {code}, its shortest code")
    return language
