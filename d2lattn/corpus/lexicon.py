"""The words of the miniature corpus: four tables that a person can read and extend.

An asterisk before a French word marks an *h aspiré*: ``le hibou`` and not ``l' hibou``. A dash
marks a form that the grammar does not use.
"""

# ruff: noqa: E501 (a row of a table is one line)

from functools import cache
from typing import NamedTuple

# singular, plural | singular, plural | gender | what it is
NOUNS = """
boy         boys         | garçon      garçons      | m | person
girl        girls        | fille       filles       | f | person
man         men          | homme       hommes       | m | person
woman       women        | femme       femmes       | f | person
friend      friends      | ami         amis         | m | person
child       children     | enfant      enfants      | m | person
teacher     teachers     | professeur  professeurs  | m | person
actress     actresses    | actrice     actrices     | f | person
queen       queens       | reine       reines       | f | person
hero        heroes       | *héros      *héros       | m | person
dog         dogs         | chien       chiens       | m | animal
cow         cows         | vache       vaches       | f | animal
bird        birds        | oiseau      oiseaux      | m | animal
horse       horses       | cheval      chevaux      | m | animal
owl         owls         | *hibou      *hiboux      | m | animal
book        books        | livre       livres       | m | thing text
letter      letters      | lettre      lettres      | f | thing text
story       stories      | histoire    histoires    | f | thing text
newspaper   newspapers   | journal     journaux     | m | thing text
car         cars         | voiture     voitures     | f | thing
hat         hats         | chapeau     chapeaux     | m | thing
flower      flowers      | fleur       fleurs       | f | thing
tree        trees        | arbre       arbres       | m | thing
table       tables       | table       tables       | f | thing surface
boat        boats        | bateau      bateaux      | m | thing surface
apple       apples       | pomme       pommes       | f | thing food
orange      oranges      | orange      oranges      | f | thing food
egg         eggs         | œuf         œufs         | m | thing food
house       houses       | maison      maisons      | f | place
garden      gardens      | jardin      jardins      | m | place
school      schools      | école       écoles       | f | place
hotel       hotels       | hôtel       hôtels       | m | place
church      churches     | église      églises      | f | place
city        cities       | ville       villes       | f | place
hospital    hospitals    | hôpital     hôpitaux     | m | place
"""

# English | masculine, feminine, masculine plural, feminine plural, masculine before a vowel |
# its place beside the noun | what it is said of
ADJECTIVES = """
small       | petit       petite       petits       petites       -      | before | animal thing place
big         | grand       grande       grands       grandes       -      | before | animal thing place
beautiful   | beau        belle        beaux        belles        bel    | before | any
new         | nouveau     nouvelle     nouveaux     nouvelles     nouvel | before | thing place
old         | vieux       vieille      vieux        vieilles      vieil  | before | any
young       | jeune       jeune        jeunes       jeunes        -      | before | person animal
red         | rouge       rouge        rouges       rouges        -      | after  | thing
white       | blanc       blanche      blancs       blanches      -      | after  | animal thing place
black       | noir        noire        noirs        noires        -      | after  | animal thing
strange     | étrange     étrange      étranges     étranges      -      | after  | any
happy       | heureux     heureuse     heureux      heureuses     -      | after  | person animal
sad         | triste      triste       tristes      tristes       -      | after  | person animal
honest      | honnête     honnête      honnêtes     honnêtes      -      | after  | person
interesting | intéressant intéressante intéressants intéressantes -      | after  | person text place
"""

# English: base, with he, past, particle | frame | French: infinitive, je, tu, il, nous, ils,
# participle, auxiliary | what the object is
VERBS = """
see    sees    saw      -     | direct | voir      vois    vois     voit     voyons     voient      vu       avoir | any
look   looks   looked   at    | direct | regarder  regarde regardes regarde  regardons  regardent   regardé  avoir | any
look   looks   looked   for   | direct | chercher  cherche cherches cherche  cherchons  cherchent   cherché  avoir | any
find   finds   found    -     | direct | trouver   trouve  trouves  trouve   trouvons   trouvent    trouvé   avoir | any
love   loves   -        -     | direct | aimer     aime    aimes    aime     aimons     aiment      -        avoir | any
listen listens listened to    | direct | écouter   écoute  écoutes  écoute   écoutons   écoutent    écouté   avoir | person animal
buy    buys    bought   -     | direct | acheter   achète  achètes  achète   achetons   achètent    acheté   avoir | thing
take   takes   took     -     | direct | prendre   prends  prends   prend    prenons    prennent    pris     avoir | thing
sell   sells   sold     -     | direct | vendre    vends   vends    vend     vendons    vendent     vendu    avoir | thing
eat    eats    ate      -     | direct | manger    mange   manges   mange    mangeons   mangent     mangé    avoir | food
read   reads   -        -     | direct | lire      lis     lis      lit      lisons     lisent      -        avoir | text
have   has     -        -     | direct | avoir     ai      as       a        avons      ont         -        avoir | thing
speak  speaks  spoke    to    | to     | parler    parle   parles   parle    parlons    parlent     parlé    avoir | person animal
talk   talks   talked   about | about  | parler    parle   parles   parle    parlons    parlent     parlé    avoir | any
answer answers answered -     | to     | répondre  réponds réponds  répond   répondons  répondent   répondu  avoir | person
give   gives   gave     -     | give   | donner    donne   donnes   donne    donnons    donnent     donné    avoir | thing
go     goes    went     to    | place  | aller     vais    vas      va       allons     vont        allé     être  | place
arrive arrives arrived  -     | none   | arriver   arrive  arrives  arrive   arrivons   arrivent    arrivé   être  | -
leave  leaves  left     -     | none   | partir    pars    pars     part     partons    partent     parti    être  | -
sleep  sleeps  slept    -     | none   | dormir    dors    dors     dort     dormons    dorment     dormi    avoir | -
sing   sings   sang     -     | none   | chanter   chante  chantes  chante   chantons   chantent    chanté   avoir | -
think  thinks  -        that  | clause | penser    pense   penses   pense    pensons    pensent     -        avoir | -
say    says    -        that  | clause | dire      dis     dis      dit      disons     disent      -        avoir | -
know   knows   -        that  | clause | savoir    sais    sais     sait     savons     savent      -        avoir | -
want   wants   -        to    | modal  | vouloir   veux    veux     veut     voulons    veulent     -        avoir | -
can    can     -        -     | modal  | pouvoir   peux    peux     peut     pouvons    peuvent     -        avoir | -
must   must    -        -     | modal  | devoir    dois    dois     doit     devons     doivent     -        avoir | -
"""

# number | English | masculine, feminine, plural, feminine plural | feminine before a vowel
DETERMINERS = """
any      | the     | le    la    les      les      | -
singular | a       | un    une   -        -        | -
plural   | some    | -     -     des      des      | -
singular | this    | ce    cette -        -        | -
plural   | these   | -     -     ces      ces      | -
any      | my      | mon   ma    mes      mes      | mon
any      | your    | ton   ta    tes      tes      | ton
any      | his     | son   sa    ses      ses      | son
any      | her     | son   sa    ses      ses      | son
any      | our     | notre notre nos      nos      | -
any      | their   | leur  leur  leurs    leurs    | -
singular | every   | chaque chaque -      -        | -
plural   | two     | -     -     deux     deux     | -
plural   | three   | -     -     trois    trois    | -
plural   | many    | -     -     beaucoup beaucoup | -
plural   | all     | -     -     tous     toutes   | -
"""


class Noun(NamedTuple):
    """A noun: English and French (singular, plural), the French gender, what it stands for."""

    english: tuple[str, str]
    french: tuple[str, str]
    feminine: bool
    kinds: frozenset[str]


class Adjective(NamedTuple):
    """An adjective: French by (plural, feminine), and its form before a vowel where it has one."""

    english: str
    french: tuple[tuple[str, str], tuple[str, str]]
    before_vowel: str
    after_noun: bool
    kinds: frozenset[str]

    @property
    def has_one_gender(self) -> bool:
        """Whether the feminine looks like the masculine, so that ``I`` and ``you`` may have it."""
        return self.french[0][0] == self.french[0][1]


class Verb(NamedTuple):
    """A verb: English base, third person and past; French present by person, participle."""

    english: tuple[str, str, str]
    particle: str
    frame: str
    infinitive: str
    present: dict[tuple[int, bool], str]
    participle: str
    auxiliary: str
    kinds: frozenset[str]


class Determiner(NamedTuple):
    """A determiner: French by (plural, feminine), and the feminine's form before a vowel."""

    english: str
    french: tuple[tuple[str, str], tuple[str, str]]
    feminine_before_vowel: str


class Lexicon(NamedTuple):
    """All tables, parsed."""

    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    verbs: tuple[Verb, ...]
    singular_determiners: tuple[Determiner, ...]
    plural_determiners: tuple[Determiner, ...]
    aspirated: frozenset[str]


def suits(word_kinds: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether a word of some kinds may stand where some kinds are wanted."""
    return "any" in wanted or not word_kinds.isdisjoint(wanted)


def _rows(table: str) -> list[list[list[str]]]:
    """Split a table into rows of columns of words; a dash becomes the empty string."""
    return [
        [["" if word == "-" else word for word in column.split()] for column in line.split("|")]
        for line in table.strip().splitlines()
    ]


@cache
def lexicon() -> Lexicon:
    """Parse the tables once.

    >>> lexicon().nouns[3].french
    ('femme', 'femmes')
    """
    plain = str.maketrans("", "", "*")
    aspirated = frozenset(
        word[1:] for row in _rows(NOUNS) for word in row[1] if word.startswith("*")
    )
    nouns = tuple(
        Noun(
            (english[0], english[1]),
            (french[0].translate(plain), french[1].translate(plain)),
            gender == ["f"],
            frozenset(kinds),
        )
        for english, french, gender, kinds in _rows(NOUNS)
    )
    adjectives = tuple(
        Adjective(
            english[0],
            ((french[0], french[1]), (french[2], french[3])),
            french[4],
            place == ["after"],
            frozenset(kinds),
        )
        for english, french, place, kinds in _rows(ADJECTIVES)
    )
    persons = ((1, False), (2, False), (3, False), (1, True), (3, True))
    verbs = tuple(
        Verb(
            (english[0], english[1], english[2]),
            english[3],
            frame[0],
            french[0],
            dict(zip(persons, french[1:6], strict=True)),
            french[6],
            french[7],
            frozenset(kinds),
        )
        for english, frame, french, kinds in _rows(VERBS)
    )
    determiners: dict[str, list[Determiner]] = {"singular": [], "plural": []}
    for number, english, french, before_vowel in _rows(DETERMINERS):
        row = Determiner(
            english[0], ((french[0], french[1]), (french[2], french[3])), before_vowel[0]
        )
        for chosen in determiners if number == ["any"] else number:
            determiners[chosen].append(row)
    return Lexicon(
        nouns,
        adjectives,
        verbs,
        tuple(determiners["singular"]),
        tuple(determiners["plural"]),
        aspirated,
    )
