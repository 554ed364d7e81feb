//! A made-up namespace: sessions of small talk in three languages with facts planted in them.

use serde::{Deserialize, Serialize};

/// An item or a question's answer as the committed files hold it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) speaker: String,
    pub(super) text: String,
    pub(super) session: String,
    pub(super) observed_at: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) q: String,
    pub(super) gold: Vec<String>,
    pub(super) class: String,
}

/// One namespace with its questions, a line of the committed file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Conversation {
    pub(super) conv: String,
    pub(super) items: Vec<Item>,
    pub(super) queries: Vec<Question>,
}

/// A small generator of numbers: the same everywhere for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // Constants of Knuth's MMIX; the upper bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

struct Topic {
    class: &'static str,
    nouns: [&'static str; 5],
    /// Sentences with `{}` for a noun of the topic.
    talk: [&'static str; 5],
    /// A fact with its question.
    facts: [(&'static str, &'static str); 3],
}

const PEOPLE: [&str; 4] = ["Mara", "Jonas", "Priya", "assistant"];

const TOPICS: [Topic; 8] = [
    Topic {
        class: "english",
        nouns: ["tomatoes", "seedlings", "greenhouse", "compost", "beans"],
        talk: [
            "The {} look better since I moved them into the sun.",
            "Did you water the {} before leaving for the weekend?",
            "I spent the whole morning with the {} and my back hurts.",
            "Somebody told me that {} need more light than we think.",
            "Nice, I would love to see the {} when I come over.",
        ],
        facts: [
            (
                "The spare key for the greenhouse hangs behind the blue kettle.",
                "Where does the spare key hang?",
            ),
            (
                "Our neighbour Edgar gave us a quince tree for the anniversary.",
                "Who gave us a tree?",
            ),
            (
                "I planted forty garlic cloves along the southern fence.",
                "How many garlic cloves did I plant?",
            ),
        ],
    },
    Topic {
        class: "english",
        nouns: ["release", "pipeline", "database", "migration", "dashboard"],
        talk: [
            "The {} failed again last night, the logs say nothing useful.",
            "We should freeze the {} until the review is finished.",
            "I rewrote the {} tests and they are twice as fast now.",
            "Can somebody check the {} before the meeting starts?",
            "Here is a short summary of the {} work with the next steps and the open questions for everyone.",
        ],
        facts: [
            (
                "The staging database listens on port 7313 since the move.",
                "Which port does the staging database use?",
            ),
            (
                "We chose the crimson cluster for the nightly backups.",
                "Which cluster was chosen for backups?",
            ),
            (
                "Jonas broke the billing export with a wrong timezone.",
                "Why did the billing export break?",
            ),
        ],
    },
    Topic {
        class: "english",
        nouns: ["trail", "hut", "glacier", "backpack", "summit"],
        talk: [
            "The {} was wonderful, we saw marmots everywhere.",
            "Next time we take the other way around the {}.",
            "My knees still remember the {} from that day.",
            "The {} will be closed when the snow comes.",
            "We met a shepherd near the {} who showed us a spring.",
        ],
        facts: [
            (
                "I bought new crampons in a shop called Felsgrat.",
                "Where did I buy my crampons?",
            ),
            (
                "The children slept in the attic of the Lonsdale hut.",
                "Where did the children sleep?",
            ),
            (
                "Priya twisted her ankle on the eastern ridge in October.",
                "What happened to Priya on the ridge in October?",
            ),
        ],
    },
    Topic {
        class: "english",
        nouns: ["violin", "concert", "choir", "rehearsal", "melody"],
        talk: [
            "The {} on Sunday went well and people sang along.",
            "I could not find a quiet room for the {}.",
            "She taught me how the {} should sound at the end.",
            "Your {} is the best thing I have heard this year!",
            "We wrote down every mistake of the {} and laughed.",
        ],
        facts: [
            (
                "My teacher Odile sold me her old viola for 450 euros.",
                "How much did I pay for the viola?",
            ),
            (
                "The choir rehearses in the chapel on Quarry Street.",
                "In which street does the choir rehearse?",
            ),
            (
                "Mara won the second prize at the folk festival on 14 June 2023.",
                "What did Mara win on 14 June 2023?",
            ),
        ],
    },
    Topic {
        class: "german",
        nouns: ["Werkstatt", "Fahrrad", "Kette", "Bremse", "Sattel"],
        talk: [
            "Die {} ist heute endlich fertig geworden.",
            "Kannst du morgen nach der {} sehen?",
            "Ich habe lange an der {} gearbeitet.",
            "Ohne die {} kommen wir nicht weit.",
            "Das mit der {} war eine gute Idee.",
        ],
        facts: [
            (
                "Der Reifen kostet beim Laden Speichenfuchs nur zwanzig Euro.",
                "Was kostet der Reifen beim Speichenfuchs?",
            ),
            (
                "Mein Bruder Lorenz wohnt jetzt in Bamberg.",
                "Wo wohnt Lorenz?",
            ),
            (
                "Das Passwort vom Tresor steht im gelben Heft.",
                "Wo steht das Passwort vom Tresor?",
            ),
        ],
    },
    Topic {
        class: "german",
        nouns: ["Suppe", "Kartoffeln", "Ofen", "Gabel", "Kuchen"],
        talk: [
            "Der Duft von {} zieht durch das ganze Haus.",
            "Wer hat die {} stehen lassen?",
            "Mit der {} sind wir gleich soweit.",
            "Oma macht die {} anders als alle anderen.",
            "Ich nehme noch etwas von der {}, danke.",
        ],
        facts: [
            (
                "Tante Hedwig vertraegt keine Haselnuss im Teig.",
                "Wer vertraegt keine Haselnuss?",
            ),
            (
                "Zum Geburtstag gab es Pflaumenmus aus Erfurt.",
                "Woher kam das Pflaumenmus?",
            ),
            (
                "Der Backkurs beginnt am Donnerstag um sieben.",
                "Wann beginnt der Backkurs?",
            ),
        ],
    },
    Topic {
        class: "spanish",
        nouns: ["playa", "barco", "puerto", "faro", "vela"],
        talk: [
            "La {} estaba llena de gente por la tarde.",
            "Vamos otra vez al lado de la {} cuando quieras.",
            "Nunca vi una {} tan grande como esa.",
            "El viento empuja la {} hacia el norte.",
            "Tu foto de la {} es preciosa.",
        ],
        facts: [
            (
                "Mi primo Anselmo repara motores en Cartagena.",
                "Donde se repara motores?",
            ),
            (
                "El ancla pesa treinta kilos y cuelga del muelle viejo.",
                "Cuanto pesa el ancla?",
            ),
            (
                "Guardamos los mapas dentro del armario verde.",
                "Donde guardamos los mapas?",
            ),
        ],
    },
    Topic {
        class: "spanish",
        nouns: ["cocina", "mesa", "receta", "cena", "salsa"],
        talk: [
            "La {} de anoche fue un desastre total.",
            "Prefiero la {} sin tanta sal.",
            "Ayer limpiamos la {} entre todos.",
            "Tengo otra {} para el domingo.",
            "Que bien huele la {} de tu madre.",
        ],
        facts: [
            (
                "Ramona es alergica a los mariscos desde pequenita.",
                "A que es alergica Ramona?",
            ),
            (
                "El horno nuevo llega el martes con el camion azul.",
                "Cuando llega el horno nuevo?",
            ),
            (
                "Compramos azafran en la tienda de Belmonte.",
                "Donde compramos azafran?",
            ),
        ],
    },
];

/// Questions that no single fact answers.
const EXTRA: [&str; 14] = [
    "What did we talk about in June?",
    "What was said on 3 March?",
    "Which meeting was on the 5th of October?",
    "What happened in 2023?",
    "Tell me about the greenhouse in May 2024.",
    "May I see the concert?",
    "What did I tell you about my knees?",
    "database migration review",
    "Who wrote the tests for the release pipeline?",
    "the of and",
    "Did somebody find a quiet room for the violin concert on Sunday?",
    "Where are the children and the shepherd?",
    "better light, more sun, good beans",
    "What went wrong with the dashboard on January 12?",
];

/// The namespace, the same on every call.
pub(super) fn conversation() -> Conversation {
    let mut dice = Dice(20_240_517);
    let mut made = Conversation {
        conv: "synthetic".to_owned(),
        items: Vec::new(),
        queries: Vec::new(),
    };
    for round in 0..3 {
        for (number, topic) in TOPICS.iter().enumerate() {
            session(&mut made, &mut dice, topic, round, number);
        }
    }
    made.queries.extend(EXTRA.map(|q| Question {
        q: q.to_owned(),
        gold: vec![made.items[0].id.clone()],
        class: "extra".to_owned(),
    }));
    made
}

fn session(made: &mut Conversation, dice: &mut Dice, topic: &Topic, round: usize, number: usize) {
    let (fact, question) = topic.facts[round];
    let length = 7 + dice.roll(4);
    let planted = dice.roll(length);
    let (year, month) = (2023 + round / 2, 1 + (number * 5 + round * 4) % 12);
    let day = 1 + dice.roll(28);
    for turn in 0..length {
        let id = format!("i{}", made.items.len());
        let text = if turn == planted {
            made.queries.push(Question {
                q: question.to_owned(),
                gold: vec![id.clone()],
                class: topic.class.to_owned(),
            });
            fact.to_owned()
        } else {
            let talk = dice
                .pick(&topic.talk)
                .replace("{}", dice.pick(&topic.nouns));
            // A second sentence now and then makes lengths differ.
            match dice.roll(3) {
                0 => format!(
                    "{talk} {}",
                    dice.pick(&topic.talk)
                        .replace("{}", dice.pick(&topic.nouns))
                ),
                _ => talk,
            }
        };
        made.items.push(Item {
            id,
            speaker: dice.pick(&PEOPLE).to_owned(),
            text,
            session: format!("s{round}-{number}"),
            observed_at: format!("{year}-{month:02}-{day:02}"),
        });
    }
}
