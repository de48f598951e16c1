#include "quern/memory/facts/foreign_tables.h"

namespace quern::memory {

const std::vector<ForeignKind>& foreign_kinds() {
  static const std::vector<ForeignKind> kinds = {
      {"contact",
       word_phrases("wie lautet/ist mein- * nummer/telefonnummer/handynummer/rufnummer | "
                    "wie lautet/ist @ * nummer/telefonnummer/handynummer/rufnummer | "
                    "was ist mein-/@ * nummer/telefonnummer/handynummer | unter welcher nummer | "
                    "quel est mon * numero | quel est le * numero * @ | quel etait mon * numero | "
                    "cual es mi * numero | cual es el * numero * @ | que numero de telefono | que numero tengo"),
       word_phrases("meine * nummer/telefonnummer/handynummer/rufnummer | erreichst/erreicht mich * unter | "
                    "erreichbar unter | ruf/ruft mich * unter/an | neue nummer/handynummer/telefonnummer | "
                    "mon * numero | nouveau numero | appelle/appelez moi * au | joindre * au | "
                    "mi * numero | nuevo numero | numero nuevo | llamame/llamadme * al | localizarme en"),
       word_phrases("alte nummer * abgemeldet | nummer * gilt nicht mehr")},
      {"job",
       word_phrases(
           "was bin/ist * von beruf | was ist mein-/@ * beruf | welchen beruf | als was arbeit- | "
           "was mach-/macht * beruflich | welchen job | was arbeit- | "
           "quel est mon * metier/travail/emploi/poste | quel est le metier/travail/emploi/poste * @ | "
           "quel metier | que fais/fait * dans la vie | qu est ce que * dans la vie | "
           "quelle est ma profession | quelle est la profession * @ | "
           "a que me dedico | a que se dedica | cual es mi * trabajo/profesion/puesto | "
           "cual es el/la trabajo/profesion/puesto * @ | de que trabaj- | en que trabaj- | que trabajo tengo"),
       word_phrases(
           "ich arbeite * als | arbeite ich * als | ich bin * von beruf | von beruf bin ich | "
           "mein * beruf ist | befordert | als * angefangen | fange * als * an | ich mache jetzt * ausbildung | "
           "meine stelle als | @ arbeitet * als | @ ist * von beruf | "
           "je travaille * comme | je suis devenu- | je suis * de metier/profession | mon * metier est/c | "
           "mon * poste | promu- | commence- * comme | embauche- * comme | "
           "@ travaille * comme | @ est devenu- | "
           "trabajo * como/de | soy * de profesion | me dedico a | me han ascendido | mi profesion es | "
           "empezado * como/de | empece * como/de | contratado * como | @ trabaja * como/de | "
           "@ se dedica a"),
       word_phrases("arbeite * nicht mehr als | ne travaille plus comme | ya no trabajo como/de")},
      {"employer",
       word_phrases("wo arbeit- | fur wen arbeit- | bei wem arbeit- | bei welcher firma | wo * gearbeitet | "
                    "wer ist mein- arbeitgeber/chef | wer ist @ arbeitgeber | "
                    "ou * travaill- | pour qui * travaill- | chez qui * travaill- | quel est mon employeur | "
                    "dans quelle entreprise | donde * trabaj- | para quien * trabaj- | en que empresa"),
       word_phrases("ich arbeite * bei/beim/fur/in/im | arbeite ich * bei/beim/fur/in/im | ich arbeite * an der | "
                    "ich bin jetzt bei | bin * angestellt | bei/beim/im * angefangen | fange * bei/beim/im * an | "
                    "erster tag bei/beim/im/in | neuer arbeitgeber | arbeitgeber ist | zu/zur/zum * gewechselt | "
                    "@ arbeitet * bei/beim/fur/in/im | "
                    "je travaille * chez/pour/dans/au/aux/en | je travaille * a la | je suis maintenant chez | "
                    "commence * chez | embauche- * chez/par | premier jour chez/au/a | nouvel employeur | "
                    "je bosse * chez/pour/dans/au | @ travaille * chez/pour/dans/au/en | "
                    "trabajo * en/para | trabajando * en/para | empezado * en | empece * en | contratado * en/por | "
                    "me ha contratado | primer dia en | nueva empresa | @ trabaja * en/para"),
       word_phrases("arbeite * nicht mehr | gekundigt | ne travaille plus | demissionne | ya no trabajo | "
                    "he dejado * trabajo | me despidieron")},
      {"home",
       word_phrases("wo wohn- | wo leb- | wo * gewohnt | wo * gelebt | in welche- stadt/ort/strasse/viertel | "
                    "ou * habit- | ou * vis/vit/vivais/vivait/vecu | dans quelle ville/rue | "
                    "donde * viv- | en que ciudad/calle/barrio * viv-"),
       word_phrases(
           "ich wohne * <in> | wohne ich * <in> | wir wohnen * <in> | wohnen wir * <in> | ich lebe * <in> | "
           "lebe ich * <in> | wir leben * <in> | bin * nach/in * gezogen | sind * nach/in * gezogen | "
           "bin * nach * umgezogen | sind * nach * umgezogen | eingezogen | neue wohnung <in> | "
           "mein zuhause ist | @ wohnt * <in> | @ lebt * <in> | @ ist * nach * gezogen | "
           "j habite * <in> | nous habitons * <in> | on habite * <in> | je vis * <in> | nous vivons * <in> | "
           "demenage * <in> | emmenage * <in> | on s est installe- * <in> | nouvelle adresse | neue adresse | je me "
           "suis installe- * <in> | sommes installes * <in> | "
           "nouvel appartement | @ habite * <in> | @ vit * <in> | "
           "vivo * <in> | vivimos * <in> | mudado <in> | me mude * <in> | nos mudamos * <in> | mudar <in> | a vivir "
           "<in> | resido <in> | "
           "nuevo piso | @ vive * <in> | @ se mudo <in>"),
       word_phrases("wohne * nicht mehr | ausgezogen | n habite plus | ne vis plus | ya no vivo")},
      {"car",
       word_phrases("welche-/was * auto/wagen | quelle voiture | quelle est ma voiture | que coche/carro | "
                    "cual es mi coche/carro"),
       word_phrases(
           "ich fahre * einen/ein | fahre ich * einen/ein | mein neue- auto/wagen | auto/wagen gekauft | "
           "neue- auto/wagen | @ fahrt * einen/ein | je conduis * une/un | je roule * en | nouvelle voiture | "
           "voiture * achetee | achete une * voiture | @ conduit * une/un | conduzco * un | coche nuevo | "
           "nuevo coche | comprado * coche/carro | tengo un * coche/carro | @ conduce * un"),
       word_phrases("auto/wagen verkauft | vendu * voiture | vendido * coche/carro")},
  };
  return kinds;
}

const ForeignSigns& foreign_signs() {
  static const ForeignSigns signs = {
      word_phrases("ich | mein- | mich | mir | wir | unser- | je | j | mon | ma | mes | nous | vivo | vivia | vivi | "
                   "trabajo | "
                   "trabajaba | dedico | mi | mis | tengo | tenia | conduzco | conducia | yo | soy | vivimos"),
      word_phrases(
          "gewohnt | wohnte | gelebt | lebte | gearbeitet | arbeitete | war | hatte | fuhr | gefahren | lautete | "
          "habitais | habitait | habite en | vivais | vivait | vecu | travaillais | travaillait | travaille en | "
          "etait | "
          "avais | avait | conduisais | conduisait | vivia | vivi | vivio | trabajaba | trabaje | era | tenia | "
          "conducia"),
      word_phrases("vorher | davor | zuvor | fruher | fruhere- | alte | avant | auparavant | ancien- | antes | "
                   "anterior | antiguo | antigua"),
      word_phrases("wurde * gern- | mochte | wollte | wenn ich | vielleicht | fast | beinahe | traum- | irgendwann | "
                   "am liebsten | eines tages | konnte | uberlege | wohne nicht | lebe nicht | arbeite nicht | "
                   "aimerais | voudrais | si je | peut etre | reve | un jour | presque | failli | pourrais | "
                   "n habite pas | ne vis pas | ne travaille pas | "
                   "gustaria | quisiera | ojala | si viviera | si pudiera | quizas | quiza | tal vez | sueno con | "
                   "algun dia | casi | podria | no vivo | no trabajo | tengo * trabajo | numero de "
                   "client/cliente/dossier/pedido | je vis un/une | mucho trabajo | del trabajo "
                   "| al trabajo | trabajo en casa | gustaria vivir | "
                   "lebe in * angst/sorge/not"),
      word_phrases(
          "mein-/unser- bruder/schwester/geschwister/eltern/mutter/mama/vater/papa/freund-/kolleg-/nachbar-/mann/"
          "frau/sohn/tochter/kinder/onkel/tante/cousin-/oma/opa/grosseltern/chef-/schwager/schwagerin | "
          "mon/ma/mes/notre/nos frere-/soeur-/sœur-/parents/mere/maman/pere/papa/ami-/collegue-/voisin-/mari/femme/"
          "fils/fille-/enfants/oncle/tante/cousin-/grand-/copain-/copine-/chef- | "
          "mi/mis/nuestr- herman-/padre-/madre/mama/papa/amig-/companer-/vecin-/marido/mujer/hij-/tio-/tia-/prim-/"
          "abuel-/novi-/jef-/suegr-"),
      word_phrases(
          "ich | wir | uns | mir | mich | je | j | on | nous | me | m | he | hemos | nos | acabo | vivo | vivimos | "
          "trabajo | conduzco | resido | soy"),
      word_phrases(
          "appartement | maison | studio | rue | village | quartier | campagne | colocation | chez * parents/tante | "
          "piso | casa | apartamento | pueblo | calle | barrio | campo | centro"),
      word_phrases("heute | gerade | morgen | ce matin | ce soir | aujourd hui | hoy | esta manana | esta tarde"),
      word_phrases("jetzt | nun | neu- | seit | endlich | maintenant | desormais | nouve- | depuis | enfin | ahora | "
                   "nuev- | desde | por fin")};
  return signs;
}

}  // namespace quern::memory
