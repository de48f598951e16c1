// Words in common use in German, French and Spanish that lie one slip away from a word of time in the tables: they are
// themselves ("teuer" is not "heuer"). The list is closed under the rule of WordingTable::mended.
#include "quern/memory/wording/table.h"

namespace quern::memory {

std::string_view german_own_words() {
  return R"(
aalen abende abgefangen abgeschlossene abgeschossen abwenden achse achsen achtel achtet allererst anfange anfangst
anfangt anfing angegangen angeschlossen anhang antworte antwortet auffuhrt augusta auguste ausfahrt ausschliessliche
aussen aussere aussern aussert avon banner beendet begannen beginnen begonnene beine beinen beitrages beitrags
beitragt beitrug bekunden beschlossen besonnen betrag betrage betragen beute bohne botschafter cats chaos chart charts
dacht dachte dachten damon daraus davos december deine deinem deinen deiner deines deute devon dialogs diebe dieben
diele diene dienen diener dienstwagen dies diesel dieter diner diskutiere diskutierten dissen drauf drein dritt
drittel dritteln drittens eber ebnen ebner echte echten echter echtes eden eier eifer eigen eigne eignen eigner eilen
eimer einher eins eisen eisner elfe elfen elite eliten elster eminem enden endes endet erden ernste ernsten ernster
ernstes ernte ernten eroffne eroffnen eroffnete erst erstens erstere este ester etage etagen euer exner faber fahre
fahren febr feder feier feine feinem feinen feiner feines feuer fever fieber fiese fiesen fieser freital freytag fruhe
funfer funft funftel funkt galen geber geistern gerste geschlossene geschossen gesendet gestein gesten gewendet hagen
hats hauer haute heber heer hefte heine heiner heut hexer hindert hinter hinters hunderte hute ines inter jagen jaguar
jahrt jahrzehnte jahrzehnts jenner jochen johann johanna johannis jule jules julia julie julio jungs keine keinem
keinen keiner keines koche kochen lacht lachte lachten lagen laufende laufender leber lehnte lehnten leine leinen
letter letzt letztere leute lieben liebte liebten liner lines lohne lucia lumia macht machte machts maden magen
mahen mahlen mahren maler malern malle malte manner maren margen martin martina martins massage matte mayen mazen
meines mende merz meute miese miesen mieser mieses miete minen miner minutes mitt mittel mittig mogen mona monet mont
montage monte morden morgan motte nachm nachsicht nachst nachte nackt nackten nahren naht nahten neuen neuer nichten
nichts nicolaus niesen niklaus nikola nocht october osten osterr pacht pachter pages peine pochen punk punks punkte
punkto racht ragen reben rede redet regen reine reinem reinen reiner reines reste resten riese riesen ritten ritter
roche roden sachs sacht sachte salen sammer satzung satzungen sechser seine seinem seinen seiner seines seist seite
seitz sekunde sende setzte setzten setzung sichs sieber siegen siegte siegten silben sitte soeben sohne sonate
sonntage sorgen spreche sprecher sprechern spruchen stage stande stern summer sunde sunden susser sylvester tagte
taken takes tales tanner tapes taten taugen taxen teuer trage tragen treffe treffend treffens treffer treffern tritte
ubels uberm ubern ueber under unger unserm unsern unsre unsrer untere unteren unterer unteres user users vagen
valentina valentine valentino verabschiede verabschieden verabschiedete vergangen verletzte verletzten verletzter
vieren vierer viersen viert vierteln viertels vorangegangen vorder vorheriger wache wachen wacht wachte wachter wagen
wahre wahren wahres warend weber weihnachts weine weinen weines weite weitem weiten weiter weites wende western wiese
wiesen wieser winner winzer wischen witte wochenend wohne wolf written wundert yacht zehen zehner zehnt zehntel zeiten
zerbst zischen zunfte zweien zweier zweig zweige zweigen zweit zweitens
)";
}

std::string_view french_own_words() {
  return R"(
about achat achats acres ailes ainee aires ajout amant anne annexe annexes annie antre apnee apre april aptes ares
asse atout aujourdhui aupres avants avent ayant basse basses belle bernier bette calle casse cassee cassees casses
cassette cats cell celte centiemes centime centre cents certe cession cessions change changes chant chants chaos chars
chier coins colle coulees cours crois cuits debat debit debout debuta debute debuts decemment dedain deduis delle
denier deniers derriere derrieres dette deuxiemes dialoguer dieux dixiemes douce doue douee doute dreux dupuis durait
duran durand durent echangees echanger ecoles ecoule ecoulee ecouler ecoutes encre entra entree entrer entres
entretient entrez etre eure exchange exclue exclus exclut fasse fasses files fours giles hameaux hardi here hetre heur
heurte heurts hivers horse hours huitiemes iles innee inuits javier jedi jette joins jouer joues jouir jouis journees
lasse latin latins lund main mains malin malins marais marde mares mari marin marins maris marks marois marsh martin
martins massage massages masse masses melle messager messagers mette meure midis miles milieux moin moine moines moise
moisi mons nette neufs nobel noire noirs note notee noter notres november omis opaques ours pales paque paquet paquets
parlerai parleront parues pass passa passer passez passy patin patins pauses pelle pendent pensant perdant piges pille
pipes piques pires pisse plaques plie poles precedee precedes precis precisee precisees preciser pres procedant
procede procedent prochaines prochains puits quatres quinte rameau rebut rechange rendant rente rentre repense reponde
repose response river rois sains satin saufs savant scans scelle secondes seconds seine selle september size soins
soirees sois sors suivantes suivants suivent tapant tasse tasses tchat telle tendant tente tournee tours trent
trimestres tris troie troisiemes trous unit vendant ventre vingts vint viola voile votre ypres zeros
)";
}

std::string_view spanish_own_words() {
  return R"(
abras abri abria abrio abrir acero acosto agoto agusto ahora andes angosto anses ante aposto april aproxima aras arde
artes asada asado asados asta atlas atrae atraso aveces banana bananas banos basada basadas basado basados basta bayer
calvo canos cantes carla carta cartes casada casadas casado casados casta cavidad cavidades cedro centre cerco cerdo
ceros cerro cesion cesta cetro chaos charcas charles charly chas chata chato cine cinico cinto circo cisco clero coche
coches conversa corps crece creo cuadro cuanta cuartas cuartos cuarzo cuente cuero dais danos decida decido decimal
decimas decime decimos desden dese desee digas diras divas dolce dominio dominios domino durant emana encuentra
encuentras encuentre encuentres ente enter entere entero entes entra entren entres entro entry estad estais estan
estar esten ester estes esto estoy excluida excluidos eyes ferrero fide find fine finge fuente funde funes gasta
genero gesta gestos habla hablara hablare hablas hablen habran haced hacen hacer haces hallan hallar haras harta heces
heras hojas honra horca horda hordas horta idas infierno inmaculado inocente interior interiores inviernos judio
jueces juli julia julie junco junin junior juno junto lesion lesiones leyes luces lunas manada manadas manos manzana
manzanas marana marco mareo mares mario marko marte martos mates mayer mayor mazo memes meno menor menus mercer meros
mesas metes minuta mocho monos moras moses muestra muestras muestro mueve mueves nero nieve novela nueva ochoa octavia
octavio octavos odias oeste otras ozono pagada pagadas pagado pagados panos parada paradas parado parados partes
pasalo pasamos pasando pasara pascual pascuas pasta patada patadas pavadas peces pesada pesadas pesado pesados peste
pisadas pisado plastica plasticas platicar pocho ponce posada posadas precio precios predio predios premia premio
premios preveia primaveral primaveras prime projimo proximas proximos puentes quieta quieto quintas quintos quinua
quita quito rece redes repuesta reses resta restos reunian reunio reves rinde roche sabido sacado sacados salado
salados saldo salgo salmo salto salva salve salvos sanos seais secta seguida seguido segundas segundos semanal senos
sento setas sexo siente site sixto tarda tardas tardo terceras terceros ternera texto tiras tires tono torcer trade
traes trans tree trimestres tulio unes unio vanos vasta vegano vente veran veranos vienes voces vuestra vuestras
vuestro vuestros
)";
}

}  // namespace quern::memory
