/**
 * Explains the status of an execution in a sentence: whether to wait, or which action to use; for a TRAVADO execution also the reason.
 * The sentence follows only from the engine's explanation and the application's facts; nothing is read here.
 */
import { type Explanation, type LocalizedText, localized } from 'retoma'
import { fileErrors } from './errors.ts'
import { money } from './money.ts'
import { clock, count, number, plural, short, span } from './sentence.ts'
import type { Execution } from './store/executions.ts'

/** A provider wait, with the provider's message. */
export interface Waiting {
  name: string
  /** null: the wait concerns every model. */
  model: string | null
  until: Date
  message: string | null
  /** The number of waits without an answer in between, and the start of the first wait. */
  times: number
  since: Date | null
}

/** The error of the last document that asked a stopped provider. */
export interface Trouble {
  name: string
  message: string
}

/** A document that ran when the execution stalled. */
export interface Stuck {
  code: string | null
  /** The last saved step; null: no step was saved. */
  step: string | null
  worker: string | null
}

/** Documents with the same failure reason. */
export interface Cause {
  count: number
  code: string | null
  message: string
}

export interface Situation {
  execution: Execution
  /** null: the execution has no batch yet. */
  explained: Explanation | null
  waiting: readonly Waiting[]
  troubles: readonly Trouble[]
  /** Up to 20 stalled documents. */
  stuck: readonly Stuck[]
  /** For a finished execution: the failure reasons of the documents, the most frequent first. */
  causes: readonly Cause[]
  /** Questions allowed to the AI in a minute; undefined: no limit. */
  requestsPerMinute: number | undefined
  now: Date
}

export interface Diagnosis {
  sentence: LocalizedText
  /** The reason for TRAVADO; null: the execution is not TRAVADO. */
  stuckBy: LocalizedText | null
}

export function diagnose(situation: Situation): Diagnosis {
  const { execution } = situation
  switch (execution.status) {
    case 'PENDENTE':
    case 'EM_ANDAMENTO':
      return { sentence: atWork(situation), stuckBy: null }
    case 'PAUSADO':
      return { sentence: paused(situation), stuckBy: null }
    case 'TRAVADO':
      return stalled(situation)
    case 'CONCLUIDO':
      return { sentence: over(situation), stuckBy: null }
    case 'ERRO':
      return { sentence: failed(situation), stuckBy: null }
    case 'CANCELADO':
      return {
        sentence: localized(
          'cancelled: documents that were done keep their results; there is nothing to press',
          'cancelada: os documentos já concluídos mantêm seus resultados; não há o que pressionar',
        ),
        stuckBy: null,
      }
  }
}

const itWaits = localized('wait, it goes on by itself', 'aguarde, ela continua sozinha')

function atWork({ execution, explained, waiting, requestsPerMinute, now }: Situation): LocalizedText {
  if (explained === null)
    return localized(
      'the execution is being made ready: wait, it begins by itself',
      'a execução está sendo preparada: aguarde, ela começa sozinha',
    )
  const [provider] = waiting
  if (provider !== undefined) return untilProvider(provider, now)
  const { facts } = explained
  switch (explained.verdict) {
    case 'starved':
      return nobody(facts)
    case 'paused':
      return localized(
        'the queue of the classifier is paused: once an administrator ends the pause, the execution goes on by itself',
        'a fila do classificador está pausada: quando quem administra o servidor tirar a pausa, a execução continua sozinha',
      )
    case 'orphan':
      return localized(
        `the workers that had its documents died or do not answer: ${itWaits.en} within half a minute`,
        `os workers que estavam com os documentos morreram ou não respondem: ${itWaits.pt} em até meio minuto`,
      )
    case 'hung':
      return localized(
        `the worker that has its documents does not answer: wait; if the execution becomes TRAVADO, press retomar; ${progress(execution).en}`,
        `o worker que está com os documentos não responde: aguarde; se o status ficar TRAVADO, pressione retomar; ${progress(execution).pt}`,
      )
    case 'stalled':
      return localized(
        `the documents that are left are stuck: wait; when the execution becomes TRAVADO, press retomar; ${progress(execution).en}`,
        `os documentos que faltam travaram: aguarde; quando o status ficar TRAVADO, pressione retomar; ${progress(execution).pt}`,
      )
    // The elapsed time means nothing after a start: the stall clock starts again then.
    case 'slow':
      return localized(
        `the documents at work take longer than usual: wait; if the execution becomes TRAVADO, press retomar; ${progress(execution).en}`,
        `os documentos em andamento demoram mais que o normal: aguarde; se o status ficar TRAVADO, pressione retomar; ${progress(execution).pt}`,
      )
    case 'limited':
      return (
        inTurn(execution, facts) ??
        localized(
          `as many documents as may be at work at the same time are: ${itWaits.en}; ${progress(execution).en}`,
          `já está em andamento o máximo de documentos ao mesmo tempo: ${itWaits.pt}; ${progress(execution).pt}`,
        )
      )
    case 'waiting':
      return typeof facts.dueAt === 'string' && facts.ready === 0
        ? nextTry(new Date(facts.dueAt), now, execution, requestsPerMinute)
        : (inTurn(execution, facts) ??
            localized(
              `it waits in line for a free worker: ${itWaits.en}; ${progress(execution).en}`,
              `espera na fila por um worker livre: ${itWaits.pt}; ${progress(execution).pt}`,
            ))
    default:
      return goes(execution, facts)
  }
}

/** A shorter wait is over before a person could act. */
const worthClearing = 60

function untilProvider({ name, model, until, message, times, since }: Waiting, now: Date): LocalizedText {
  const seconds = Math.ceil((until.getTime() - now.getTime()) / 1000)
  const why = message === null ? '' : ` (${short(message)})`
  const lever =
    seconds < worthClearing
      ? localized('', '')
      : localized(
          '; an administrator can have it asked at once',
          '; quem administra o servidor pode mandar consultá-lo já',
        )
  const who =
    model === null
      ? localized(`the provider ${name}`, `o provedor ${name}`)
      : localized(`the model ${model}`, `o modelo ${model}`)
  const often = unanswered(times, since, now)
  const at = clock(until, now)
  return localized(
    `${who.en} asks to wait until ${at.en}, ${span(seconds)} more${why}${often.en}: ${itWaits.en}${lever.en}`,
    `${who.pt} pede para esperar até ${at.pt}, mais ${span(seconds)}${why}${often.pt}: ${itWaits.pt}${lever.pt}`,
  )
}

/** No document has started meanwhile: the sentence must say that the execution continues, and until when at most. */
function unanswered(times: number, since: Date | null, now: Date): LocalizedText {
  if (since === null || times < 2) return localized('', '')
  const lasted = span((now.getTime() - since.getTime()) / 1000)
  return localized(
    `; it has asked so ${times} times in ${lasted} without one answer, and after 30 min the execution is paused`,
    `; já pediu isso ${times} vezes em ${lasted} sem uma resposta sequer, e após 30 min a execução é pausada`,
  )
}

function nobody(facts: Explanation['facts']): LocalizedText {
  const { live } = facts.eligibleWorkers as { live: number }
  return live === 0
    ? localized(
        'no worker is alive: once an administrator starts one, the execution goes on by itself',
        'nenhum worker ativo: quando quem administra o servidor iniciar um, a execução continua sozinha',
      )
    : localized(
        'none of the live workers takes documents of the classifier: once an administrator starts one that does, the execution goes on by itself',
        'nenhum dos workers ativos atende o classificador: quando quem administra o servidor iniciar um que atenda, a execução continua sozinha',
      )
}

function nextTry(due: Date, now: Date, execution: Execution, perMinute: number | undefined): LocalizedText {
  const left = span(Math.max(Math.ceil((due.getTime() - now.getTime()) / 1000), 1))
  if (perMinute !== undefined)
    return localized(
      `the documents that are left wait for their turn, at most ${count(perMinute, 'question')} a minute to the AI, the first in ${left}: ${itWaits.en}; ${progress(execution).en}`,
      `os documentos que faltam esperam a vez, no máximo ${count(perMinute, 'pergunta')} por minuto à IA, o primeiro em ${left}: ${itWaits.pt}; ${progress(execution).pt}`,
    )
  return localized(
    `the documents that are left wait for their next try, the first in ${left}: ${itWaits.en}; ${progress(execution).en}`,
    `os documentos que faltam esperam a próxima tentativa, a primeira em ${left}: ${itWaits.pt}; ${progress(execution).pt}`,
  )
}

/** The documents of other executions that start before the last document of this execution. */
function othersBefore({ turn }: Explanation['facts']): { words: LocalizedText; seconds: number | null } | null {
  const given = turn as { batches: number; jobs: number; seconds: number | null } | null | undefined
  if (!given || given.jobs === 0 || given.batches === 0) return null
  const { jobs, batches, seconds } = given
  const [en, pt] =
    batches === 1
      ? ['1 other execution', '1 outra execução']
      : [`${number(batches)} other executions`, `${number(batches)} outras execuções`]
  return {
    words: localized(
      `behind about ${count(jobs, 'document')} of ${en}`,
      `atrás de cerca de ${count(jobs, 'documento')} de ${pt}`,
    ),
    seconds,
  }
}

/** Executions of a priority take turns; null: there is no other execution. */
function inTurn(execution: Execution, facts: Explanation['facts']): LocalizedText | null {
  const others = othersBefore(facts)
  if (others === null) return null
  const { words, seconds } = others
  const time =
    seconds === null ? localized('', '') : localized(`, about ${span(seconds)}`, `, cerca de ${span(seconds)}`)
  return localized(
    `it waits for its turns, ${words.en}${time.en}: ${itWaits.en}; ${progress(execution).en}`,
    `espera a vez, ${words.pt}${time.pt}: ${itWaits.pt}; ${progress(execution).pt}`,
  )
}

function goes(execution: Execution, facts: Explanation['facts']): LocalizedText {
  const others = othersBefore(facts)
  const seconds = typeof facts.etaSeconds === 'number' ? facts.etaSeconds : (others?.seconds ?? null)
  const left = seconds === null ? null : span(seconds)
  return localized(
    `it goes on${others === null ? '' : `, ${others.words.en}`}: ${progress(execution).en}${left === null ? '' : `, about ${left} left`}: wait`,
    `em andamento${others === null ? '' : `, ${others.words.pt}`}: ${progress(execution).pt}${left === null ? '' : `, faltam cerca de ${left}`}: aguarde`,
  )
}

function paused({ execution, troubles }: Situation): LocalizedText {
  const { motivo: reason } = execution
  const message = typeof reason?.message === 'string' ? short(reason.message) : ''
  if (reason?.code === 'cost_limit') {
    const [spent, limit] = [money(execution.custo_usd), money(execution.custo_permitido_usd ?? '0')]
    return localized(
      `paused because its cost limit is reached (US$ ${spent.en} of US$ ${limit.en}; the next document would pass it): press continuar to allow as much again, or cancelar`,
      `pausada porque o limite de custo foi atingido (US$ ${spent.pt} de US$ ${limit.pt}; o próximo documento passaria dele): pressione continuar para permitir o mesmo valor de novo, ou cancelar`,
    )
  }
  if (reason?.code === 'ai_model') {
    const model =
      execution.modelo === null
        ? localized('the model', 'o modelo')
        : localized(`the model "${short(execution.modelo)}"`, `o modelo "${short(execution.modelo)}"`)
    return localized(
      `paused because the provider does not know ${model.en} (${message}): press continuar with another model (modelo), which then counts for the documents that are left`,
      `pausada porque o provedor não conhece ${model.pt} (${message}): pressione continuar com outro modelo (campo modelo), que passa a valer para os documentos que faltam`,
    )
  }
  if (reason?.code === 'same_cause')
    return localized(
      `paused because ${reason.items} documents in a row failed the same way: "${message}": one document a minute tries again, and the execution goes on by itself when that works; press continuar to go on at once`,
      `pausada porque ${reason.items} documentos seguidos falharam do mesmo modo: "${message}": um documento por minuto tenta de novo, e a execução continua sozinha quando der certo; para seguir já, pressione continuar`,
    )
  if (typeof reason?.provider === 'string') {
    const last = troubles.find(each => each.name === reason.provider)
    const met = last === undefined || last.message === reason.message ? '' : `"${short(last.message)}"`
    return localized(
      `paused by the provider ${reason.provider}: "${message}": put that right there, then press continuar; it is asked again once a minute${met && ` (the last time: ${met})`}, and when it answers the execution goes on by itself`,
      `pausada pelo provedor ${reason.provider}: "${message}": resolva isso com ele e pressione continuar; ele é consultado uma vez por minuto${met && ` (na última vez: ${met})`} e, quando responder, a execução continua sozinha`,
    )
  }
  if (reason === null || reason.code === 'person')
    return localized(
      'paused by a person: press continuar to go on',
      'pausada por uma pessoa: pressione continuar para seguir',
    )
  const why = message || reason.code
  return localized(`paused: ${why}: press continuar to go on`, `pausada: ${why}: pressione continuar para seguir`)
}

function stalled({ execution, stuck }: Situation): Diagnosis {
  const { motivo: reason, tentativas_retry, max_retries } = execution
  const left = max_retries - tentativas_retry
  const noWorker = reason?.code === 'no_worker'
  const minutes = typeof reason?.stallAfterMs === 'number' ? span(reason.stallAfterMs / 1000) : '5 min'
  const stuckBy = noWorker
    ? localized(`no worker was alive for ${minutes}`, `nenhum worker ativo por ${minutes}`)
    : localized(
        `no document ended in ${minutes}${hung(stuck).en}`,
        `nenhum documento terminou em ${minutes}${hung(stuck).pt}`,
      )
  const advice = noWorker
    ? localized(
        'once an administrator has started a worker, press retomar',
        'quando quem administra o servidor tiver iniciado um worker, pressione retomar',
      )
    : localized('press retomar', 'pressione retomar')
  return {
    stuckBy,
    sentence: localized(
      `stuck: ${stuckBy.en}: ${advice.en}; what is done stays (${left} of ${count(max_retries, 'resume')} left)`,
      `travada: ${stuckBy.pt}: ${advice.pt}; o que já terminou fica (${left === 1 ? 'resta' : 'restam'} ${left} de ${count(max_retries, 'retomada')})`,
    ),
  }
}

const shown = 3

/** `; stuck: "a.pdf" (waiting for the AI, worker w-1) and 2 more` */
function hung(stuck: readonly Stuck[]): LocalizedText {
  if (stuck.length === 0) return localized('', '')
  const names = stuck.slice(0, shown).map(nameOf)
  const more = stuck.length - names.length
  const list = (language: 'en' | 'pt') => names.map(each => each[language]).join(', ')
  return localized(
    `; what hung: ${list('en')}${more > 0 ? ` and ${more} more` : ''}`,
    `; o que travou: ${list('pt')}${more > 0 ? ` e mais ${more}` : ''}`,
  )
}

/** The next work by the first word of the last saved step (jobs.ts). A document without scanned pages leaves `text` at once. */
const doing: Readonly<Record<string, LocalizedText>> = {
  text: localized('reading scanned pages', 'lendo páginas digitalizadas'),
  ocr: localized('waiting for the AI', 'esperando a IA'),
  read: localized('waiting for the AI', 'esperando a IA'),
  answer: localized('saving the result', 'gravando o resultado'),
  save: localized('waiting for the AI', 'esperando a IA'),
}
const reading = localized('reading the document', 'lendo o documento')

/** A replaced file has steps with the number of its version in front. */
const withoutVersion = (step: string): string => step.replace(/^v\d+ /, '')

function nameOf({ code, step: saved, worker }: Stuck): LocalizedText {
  const step = saved === null ? null : withoutVersion(saved)
  const what =
    step === null ? reading : (doing[step.split(' ')[0]!] ?? localized(`after step ${step}`, `depois da etapa ${step}`))
  const where = worker === null ? '' : `, worker ${worker}`
  const name = `"${short(code ?? '?', 60).replaceAll('"', "'")}"`
  return localized(`${name} (${what.en}${where})`, `${name} (${what.pt}${where})`)
}

function over({ execution, causes }: Situation): LocalizedText {
  const { concluidos, erros, pulados, total } = execution
  const skipped =
    pulados === 0 ? localized('', '') : localized(`, ${number(pulados)} skipped`, `, ${count(pulados, 'pulado')}`)
  const classified = localized(
    `${number(concluidos)} of ${count(total, 'document')} classified${skipped.en}`,
    `${number(concluidos)} de ${count(total, 'documento')} ${plural(total, 'classificado')}${skipped.pt}`,
  )
  if (erros === 0)
    return localized(
      `done: ${classified.en}; there is nothing to press`,
      `concluída: ${classified.pt}; não há o que pressionar`,
    )
  const why = because(causes, erros)
  const advice = afterErrors(execution, causes)
  return localized(
    `done with errors: ${classified.en}, ${number(erros)} with an error${why}: ${advice.en}`,
    `concluída com erros: ${classified.pt}, ${number(erros)} com erro${why}: ${advice.pt}`,
  )
}

function failed({ execution, causes }: Situation): LocalizedText {
  const { erros, max_retries, concluidos } = execution
  const own = causes.filter(({ code }) => code !== 'resumes_spent')
  const stays = localized(
    `what is done stays done (${number(concluidos)})`,
    `o que foi concluído fica (${number(concluidos)})`,
  )
  const resumed =
    max_retries === 0
      ? localized('ended because it was stuck and has no resumes,', 'encerrada porque travou e não tem retomadas,')
      : localized(`ended after ${count(max_retries, 'resume')}`, `encerrada após ${count(max_retries, 'retomada')}`)
  return localized(
    `${resumed.en} with ${count(erros, 'document')} in error${because(own, erros)}: press reprocessar-erros to run only those again; ${stays.en}`,
    `${resumed.pt} com ${count(erros, 'documento')} em erro${because(own, erros)}: pressione reprocessar-erros para processar só o que está em erro; ${stays.pt}`,
  )
}

/** Errors that another attempt with the same bytes cannot fix. */
const ofTheFile: ReadonlySet<string> = new Set([...Object.keys(fileErrors), 'document_gone'])

function afterErrors({ erros }: Execution, causes: readonly Cause[]): LocalizedText {
  const hopeless = causes.reduce((sum, { code, count }) => sum + (ofTheFile.has(code ?? '') ? count : 0), 0)
  const [one, those] = [erros === 1, erros - hopeless]
  const mend = localized(
    'mend the files and replace each of them in its document',
    'corrija os arquivos e troque cada um no seu documento',
  )
  if (hopeless >= erros)
    return localized(
      `trying again would not help: ${one ? 'mend the file and replace it in its document' : mend.en}`,
      `tentar de novo não resolveria: ${one ? 'corrija o arquivo e troque-o no documento' : mend.pt}`,
    )
  if (hopeless === 0)
    return localized(
      `press reprocessar-erros to try only ${one ? 'that one' : 'those'} again`,
      `pressione reprocessar-erros para tentar só ${one ? 'esse' : 'esses'} de novo`,
    )
  return localized(
    `press reprocessar-erros, which can help ${number(those)} of them; for the others ${mend.en}`,
    `pressione reprocessar-erros, que pode resolver ${number(those)}; para os demais, ${mend.pt}`,
  )
}

const mostCauses = 3

/**
 * ` (o PDF está protegido por senha)`, ` (2: o PDF está protegido por senha; 1: a IA não respondeu)`: in the words shown with the
 * documents.
 */
function because(causes: readonly Cause[], erros: number): string {
  if (causes.length === 0) return ''
  if (causes.length === 1 && causes[0]!.count >= erros) return ` (${causeOf(causes[0]!)})`
  const named = causes.slice(0, mostCauses).map(each => `${number(each.count)}: ${causeOf(each)}`)
  const rest = causes.slice(mostCauses).reduce((sum, each) => sum + each.count, 0)
  return ` (${[...named, ...(rest === 0 ? [] : [`${number(rest)}: …`])].join('; ')})`
}

const ofTheEngine: Readonly<Record<string, string>> = {
  poison: 'o documento derrubou o processo vezes demais',
  too_many_restarts: 'o worker morreu vezes demais',
}

const causeOf = ({ code, message }: Cause): string => ofTheEngine[code ?? ''] ?? short(message, 120)

function progress({ total, concluidos, erros, pulados }: Execution): LocalizedText {
  const ended = concluidos + erros + pulados
  const wrong =
    erros === 0 ? localized('', '') : localized(`, ${number(erros)} with an error`, `, ${number(erros)} com erro`)
  return localized(
    `${number(ended)} of ${count(total, 'document')} ended${wrong.en}`,
    `${number(ended)} de ${count(total, 'documento')} ${plural(total, 'encerrado')}${wrong.pt}`,
  )
}
