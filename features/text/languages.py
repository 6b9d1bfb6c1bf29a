"""Language codes: which are codes at all, so that a wrong one does not pass for a language without rules."""

import difflib
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from features.basics.errors import InputError

# ISO 639-1 (and `bh` and `sh`, withdrawn but in use), the codes of ISO 639-2 for the same language, its name.
_LANGUAGES: Final = """
aa aar Afar; ab abk Abkhazian; ae ave Avestan; af afr Afrikaans; ak aka Akan; am amh Amharic;
an arg Aragonese; ar ara Arabic; as asm Assamese; av ava Avaric; ay aym Aymara; az aze Azerbaijani;
ba bak Bashkir; be bel Belarusian; bg bul Bulgarian; bh bih Bihari; bi bis Bislama; bm bam Bambara;
bn ben Bengali; bo bod tib Tibetan; br bre Breton; bs bos Bosnian; ca cat Catalan; ce che Chechen;
ch cha Chamorro; co cos Corsican; cr cre Cree; cs ces cze Czech; cu chu Church Slavic; cv chv Chuvash;
cy cym wel Welsh; da dan Danish; de deu ger German; dv div Divehi; dz dzo Dzongkha; ee ewe Ewe;
el ell gre Greek; en eng English; eo epo Esperanto; es spa Spanish; et est Estonian; eu eus baq Basque;
fa fas per Persian; ff ful Fulah; fi fin Finnish; fj fij Fijian; fo fao Faroese; fr fra fre French;
fy fry Western Frisian; ga gle Irish; gd gla Scottish Gaelic; gl glg Galician; gn grn Guarani;
gu guj Gujarati; gv glv Manx; ha hau Hausa; he heb Hebrew; hi hin Hindi; ho hmo Hiri Motu;
hr hrv Croatian; ht hat Haitian; hu hun Hungarian; hy hye arm Armenian; hz her Herero;
ia ina Interlingua; id ind Indonesian; ie ile Interlingue; ig ibo Igbo; ii iii Sichuan Yi;
ik ipk Inupiaq; io ido Ido; is isl ice Icelandic; it ita Italian; iu iku Inuktitut; ja jpn Japanese;
jv jav Javanese; ka kat geo Georgian; kg kon Kongo; ki kik Kikuyu; kj kua Kuanyama; kk kaz Kazakh;
kl kal Kalaallisut; km khm Khmer; kn kan Kannada; ko kor Korean; kr kau Kanuri; ks kas Kashmiri;
ku kur Kurdish; kv kom Komi; kw cor Cornish; ky kir Kyrgyz; la lat Latin; lb ltz Luxembourgish;
lg lug Ganda; li lim Limburgish; ln lin Lingala; lo lao Lao; lt lit Lithuanian; lu lub Luba-Katanga;
lv lav Latvian; mg mlg Malagasy; mh mah Marshallese; mi mri mao Maori; mk mkd mac Macedonian;
ml mal Malayalam; mn mon Mongolian; mr mar Marathi; ms msa may Malay; mt mlt Maltese; my mya bur Burmese;
na nau Nauru; nb nob Norwegian Bokmål; nd nde North Ndebele; ne nep Nepali; ng ndo Ndonga;
nl nld dut Dutch; nn nno Norwegian Nynorsk; no nor Norwegian; nr nbl South Ndebele; nv nav Navajo;
ny nya Chichewa; oc oci Occitan; oj oji Ojibwa; om orm Oromo; or ori Oriya; os oss Ossetian;
pa pan Punjabi; pi pli Pali; pl pol Polish; ps pus Pashto; pt por Portuguese; qu que Quechua;
rm roh Romansh; rn run Rundi; ro ron rum Romanian; ru rus Russian; rw kin Kinyarwanda; sa san Sanskrit;
sc srd Sardinian; sd snd Sindhi; se sme Northern Sami; sg sag Sango; sh hbs Serbo-Croatian;
si sin Sinhala; sk slk slo Slovak; sl slv Slovenian; sm smo Samoan; sn sna Shona; so som Somali;
sq sqi alb Albanian; sr srp Serbian; ss ssw Swati; st sot Southern Sotho; su sun Sundanese;
sv swe Swedish; sw swa Swahili; ta tam Tamil; te tel Telugu; tg tgk Tajik; th tha Thai; ti tir Tigrinya;
tk tuk Turkmen; tl tgl Tagalog; tn tsn Tswana; to ton Tonga; tr tur Turkish; ts tso Tsonga; tt tat Tatar;
tw twi Twi; ty tah Tahitian; ug uig Uighur; uk ukr Ukrainian; ur urd Urdu; uz uzb Uzbek; ve ven Venda;
vi vie Vietnamese; vo vol Volapük; wa wln Walloon; wo wol Wolof; xh xho Xhosa; yi yid Yiddish;
yo yor Yoruba; za zha Zhuang; zh zho chi Chinese; zu zul Zulu
"""
_DICTIONARIES: Final = frozenset({"hbs"})  # simplemma's name of Serbo-Croatian; it knows no `sh`


def check_language(code: str) -> None:
    """Refuses what is no code by which rules, dictionaries and programs know a language.

    Two letters: those of ISO 639-1. Three letters: any, but of the languages that have two. All lower-case.

    Raises InputError with the code of the language that was meant, where that can be told.

    >>> check_language("en"), check_language("ast")
    (None, None)
    >>> check_language("English")
    Traceback (most recent call last):
    features.basics.errors.InputError: unknown language code 'English'; ...; did you mean 'en' (English)?
    """
    meant = _meant()
    if not isinstance(code, str):
        raise InputError(
            f"unknown language code {code!r}", remedy="put it in quotes: YAML reads `no` as false"
        )
    if (code in meant and meant[code][0] == code) or code in _DICTIONARIES:
        return
    if re.fullmatch("[a-z]{3}", code) and code not in meant:
        return
    near = _nearest(code.lower())
    hint = "; did you mean '{}' ({})?".format(*meant[near]) if near else ""
    raise InputError(
        f"unknown language code '{code}'",
        remedy=f"use the one of ISO 639, in lower case, with two letters where there are two{hint}",
    )


def _nearest(given: str) -> str | None:
    """The known spelling that lower-case text, such as `pt-br` or `englsh`, comes close to."""
    first = re.split("[-_.]", given)[0]
    if first in _meant():
        return first
    return next(iter(difflib.get_close_matches(given, _meant(), n=1, cutoff=0.75)), None)


@cache
def _meant() -> Mapping[str, tuple[str, str]]:
    """Lower-case code of two or three letters, or name -> (code, name) of the language."""
    meanings: dict[str, tuple[str, str]] = {}
    for entry in _LANGUAGES.split(";"):
        match = re.fullmatch(r"((?:[a-z]+ )+)(.+)", " ".join(entry.split()))
        assert match is not None, entry
        codes, name = match[1].split(), match[2]
        meanings |= dict.fromkeys((*codes, name.lower()), (codes[0], name))
    return meanings
