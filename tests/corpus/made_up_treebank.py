"""Sentences of treebanks, annotated by hand as Universal Dependencies has it."""

# Words that are cut otherwise than ours: don't, well-known, and/or.
GUIDE = """\
# newdoc id = guide
# sent_id = guide-1
# text = You don't open the well-known file.
1 You you PRON PRP _ 4 nsubj _ _
2-3 don't _ _ _ _ _ _ _ _
2 do do AUX VBP _ 4 aux _ _
3 n't not PART RB _ 4 advmod _ _
4 open open VERB VB _ 0 root _ _
5 the the DET DT _ 9 det _ _
6 well well ADV RB _ 8 advmod _ SpaceAfter=No
7 - - PUNCT HYPH _ 8 punct _ SpaceAfter=No
8 known know ADJ VBN _ 9 amod _ _
9 file file NOUN NN _ 4 obj 4:obj SpaceAfter=No
10 . . PUNCT . _ 4 punct _ _

# sent_id = guide-2
# text = Files and/or folders are shown.
1 Files file NOUN NNS _ 5 nsubj:pass _ _
2 and/or and/or CCONJ CC _ 3 cc _ _
3 folders folder NOUN NNS _ 1 conj _ _
4 are be AUX VBP _ 5 aux:pass _ _
5 shown show VERB VBN _ 0 root _ SpaceAfter=No
5.1 shown show VERB VBN _ _ _ 5:conj _
6 . . PUNCT . _ 5 punct _ _

# newdoc
# sent_id = a-1
# text = Wait.
1 Wait wait VERB VB _ 0 root _ SpaceAfter=No
2 . . PUNCT . _ 1 punct _ _

"""
# By the first newdoc of its file; a token that is not spelled as its words are; no tags of its own.
FRENCH = """\
# sent_id = f-1
# text = Il va au marché.
1 Il il PRON _ _ 2 nsubj _ _
2 va aller VERB _ _ 0 root _ _
3-4 au _ _ _ _ _ _ _ _
3 à à ADP _ _ 5 case _ _
4 le le DET _ _ 5 det _ _
5 marché marché NOUN _ _ 2 obl:arg _ SpaceAfter=No
6 . . PUNCT _ _ 2 punct _ _
"""


def in_tabs(text):
    """A file's content, from lines in which blanks stand for tabs."""
    lines = text.split("\n")
    return "\n".join(line if line.startswith("#") else line.replace(" ", "\t") for line in lines)


def treebank_in(folder, **files):
    """A folder with these files, `name.conllu`."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.conllu").write_text(in_tabs(text), encoding="utf-8")
    return folder
