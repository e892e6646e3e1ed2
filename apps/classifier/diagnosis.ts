/**
 * How an execution stands, as one sentence that says whether to wait or what to press, and of one that is TRAVADO what hung. All
 * of it is decided here, from what the engine explains and what the application knows; nothing is read.
 */
import { type Explanation, type Saying, say } from 'retoma'
import { dollars } from './money.ts'
import { clock, count, short, span } from './sentence.ts'
import type { Execution } from './store/executions.ts'

/** A provider that waits, in its own words. */
export interface Waiting {
  name: string
  /** null: it concerns every model. */
  model: string | null
  until: Date
  message: string | null
  /** How often it has asked to wait without one answer in between, and since when. */
  times: number
  since: Date | null
}

/** What the last document that asked a stopped provider met instead of an answer. */
export interface Trouble {
  name: string
  message: string
}

/** A document that was at work when its execution stood still. */
export interface Stuck {
  code: string | null
  /** The last step that was done; null: none was. */
  step: string | null
  worker: string | null
}

export interface Situation {
  execution: Execution
  /** null: it has no batch yet. */
  explained: Explanation | null
  waiting: readonly Waiting[]
  troubles: readonly Trouble[]
  /** Some of them, and how many there are. */
  stuck: readonly Stuck[]
  now: Date
}

export interface Diagnosis {
  sentence: Saying
  /** Why it is TRAVADO; null: it is not. */
  stuckBy: Saying | null
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
      return { sentence: over(execution), stuckBy: null }
    case 'ERRO':
      return { sentence: failed(execution), stuckBy: null }
    case 'CANCELADO':
      return {
        sentence: say(
          'cancelled: documents that were done keep their results; there is nothing to press',
          'cancelada: os documentos já concluídos mantêm seus resultados; não há o que pressionar',
        ),
        stuckBy: null,
      }
  }
}

const itWaits = say('wait, it goes on by itself', 'aguarde, ela continua sozinha')

function atWork({ execution, explained, waiting, now }: Situation): Saying {
  if (explained === null)
    return say(
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
      return say(
        'the queue of the classifier is paused: unpause the queue, and the execution goes on by itself',
        'a fila do classificador está pausada: tire a pausa da fila e a execução continua sozinha',
      )
    case 'orphan':
      return say(
        `the workers that had its documents died or do not answer: ${itWaits.en} within half a minute`,
        `os workers que estavam com os documentos morreram ou não respondem: ${itWaits.pt} em até meio minuto`,
      )
    case 'hung':
    case 'stalled':
      return said(explained)
    case 'slow':
      return say(
        `no document has ended for ${span(execution.segundos_sem_progresso)}: wait; if it becomes TRAVADO, press retomar`,
        `nenhum documento terminou há ${span(execution.segundos_sem_progresso)}: aguarde; se ficar TRAVADO, pressione retomar`,
      )
    case 'limited':
      return say(
        `it waits because of the limit of requests: ${itWaits.en}; ${progress(execution).en}`,
        `espera por causa do limite de requisições: ${itWaits.pt}; ${progress(execution).pt}`,
      )
    case 'waiting':
      return typeof facts.dueAt === 'string' && facts.ready === 0
        ? nextTry(new Date(facts.dueAt), now, execution)
        : say(
            `it waits in line for a free worker: ${itWaits.en}; ${progress(execution).en}`,
            `espera na fila por um worker livre: ${itWaits.pt}; ${progress(execution).pt}`,
          )
    default:
      return goes(execution, facts)
  }
}

/** A shorter wait is over before anybody has pressed anything. */
const worthClearing = 60

function untilProvider({ name, model, until, message, times, since }: Waiting, now: Date): Saying {
  const seconds = Math.ceil((until.getTime() - now.getTime()) / 1000)
  const why = message === null ? '' : ` (${short(message)})`
  const lever =
    seconds < worthClearing
      ? say('', '')
      : say(
          `; to ask it at once: retoma providers clear ${name}`,
          `; para consultá-lo já: retoma providers clear ${name}`,
        )
  const who =
    model === null ? say(`the provider ${name}`, `o provedor ${name}`) : say(`the model ${model}`, `o modelo ${model}`)
  const often = unanswered(times, since, now)
  return say(
    `${who.en} asks to wait until ${clock(until)}, ${span(seconds)} more${why}${often.en}: ${itWaits.en}${lever.en}`,
    `${who.pt} pede para esperar até ${clock(until)}, mais ${span(seconds)}${why}${often.pt}: ${itWaits.pt}${lever.pt}`,
  )
}

/** No document has had a try meanwhile: that it still goes on, and until when at most, must be said. */
function unanswered(times: number, since: Date | null, now: Date): Saying {
  if (since === null || times < 2) return say('', '')
  const lasted = span((now.getTime() - since.getTime()) / 1000)
  return say(
    `; it has asked so ${times} times in ${lasted} without one answer, and after 30 min the execution is paused`,
    `; já pediu isso ${times} vezes em ${lasted} sem uma resposta sequer, e após 30 min a execução é pausada`,
  )
}

function nobody(facts: Explanation['facts']): Saying {
  const { live } = facts.takers as { live: number }
  return live === 0
    ? say(
        'no worker is alive: start one (retoma worker), and the execution goes on by itself',
        'nenhum worker ativo: inicie um (retoma worker) e a execução continua sozinha',
      )
    : say(
        'none of the live workers takes documents of the classifier: start one that does (retoma worker --queues classifier)',
        'nenhum dos workers ativos atende o classificador: inicie um que atenda (retoma worker --queues classifier)',
      )
}

const nextTry = (due: Date, now: Date, execution: Execution): Saying => {
  const left = span(Math.ceil((due.getTime() - now.getTime()) / 1000))
  return say(
    `the documents that are left wait for their next try, the first in ${left}: ${itWaits.en}; ${progress(execution).en}`,
    `os documentos que faltam esperam a próxima tentativa, a primeira em ${left}: ${itWaits.pt}; ${progress(execution).pt}`,
  )
}

function goes(execution: Execution, { etaSeconds }: Explanation['facts']): Saying {
  const left = typeof etaSeconds === 'number' ? span(etaSeconds) : null
  return say(
    `it goes on: ${progress(execution).en}${left === null ? '' : `, about ${left} left`}: wait`,
    `em andamento: ${progress(execution).pt}${left === null ? '' : `, faltam cerca de ${left}`}: aguarde`,
  )
}

/** The engine's own words. */
function said({ sentence, advice }: Explanation): Saying {
  const both = `${sentence}: ${advice.text}`
  return say(both, both)
}

function paused({ execution, troubles }: Situation): Saying {
  const { motivo: reason } = execution
  const message = typeof reason?.message === 'string' ? short(reason.message) : ''
  if (reason?.code === 'cost_limit') {
    const [spent, limit] = [dollars(execution.custo_usd), dollars(execution.custo_permitido_usd ?? '0')]
    return say(
      `paused because its cost limit is reached (US$ ${spent} of US$ ${limit}): press continuar to allow as much again, or cancelar`,
      `pausada porque o limite de custo foi atingido (US$ ${spent} de US$ ${limit}): pressione continuar para permitir o mesmo valor de novo, ou cancelar`,
    )
  }
  if (typeof reason?.provider === 'string') {
    const last = troubles.find(each => each.name === reason.provider)
    const met = last === undefined ? '' : `"${short(last.message)}"`
    return say(
      `paused by the provider ${reason.provider}: "${message}": put that right and press continuar; it is asked again once a minute${met && ` (the last time: ${met})`} and goes on by itself when it answers`,
      `pausada pelo provedor ${reason.provider}: "${message}": resolva com ele e pressione continuar; ele é consultado uma vez por minuto${met && ` (na última vez: ${met})`} e, quando responder, ela continua sozinha`,
    )
  }
  if (reason === null || reason.code === 'person')
    return say(
      'paused by a person: press continuar to go on',
      'pausada por uma pessoa: pressione continuar para seguir',
    )
  const why = message || reason.code
  return say(`paused: ${why}: press continuar to go on`, `pausada: ${why}: pressione continuar para seguir`)
}

function stalled({ execution, stuck }: Situation): Diagnosis {
  const { motivo: reason, tentativas_retry, max_retries } = execution
  const left = max_retries - tentativas_retry
  const noWorker = reason?.code === 'no_worker'
  const minutes = typeof reason?.stallAfterMs === 'number' ? span(reason.stallAfterMs / 1000) : '5 min'
  const stuckBy = noWorker
    ? say(`no worker was alive for ${minutes}`, `nenhum worker ativo por ${minutes}`)
    : say(
        `no document ended in ${minutes}${hung(stuck).en}`,
        `nenhum documento terminou em ${minutes}${hung(stuck).pt}`,
      )
  const press = noWorker
    ? say('start a worker (retoma worker), then press retomar', 'inicie um worker (retoma worker) e pressione retomar')
    : say('press retomar', 'pressione retomar')
  return {
    stuckBy,
    sentence: say(
      `stuck: ${stuckBy.en}: ${press.en}; what is done stays (${left} of ${max_retries} resumes left)`,
      `travada: ${stuckBy.pt}: ${press.pt}; o que já terminou fica (restam ${left} de ${max_retries} retomadas)`,
    ),
  }
}

const shown = 3

/** `; stuck: "a.pdf" (waiting for the AI, worker w-1) and 2 more` */
function hung(stuck: readonly Stuck[]): Saying {
  if (stuck.length === 0) return say('', '')
  const names = stuck.slice(0, shown).map(nameOf)
  const more = stuck.length - names.length
  const list = (language: 'en' | 'pt') => names.map(each => each[language]).join(', ')
  return say(
    `; what hung: ${list('en')}${more > 0 ? ` and ${more} more` : ''}`,
    `; o que travou: ${list('pt')}${more > 0 ? ` e mais ${more}` : ''}`,
  )
}

/** By the first word of the step that was done last: what comes after it. */
const doing: Readonly<Record<string, Saying>> = {
  text: say('waiting for the AI', 'esperando a IA'),
  answer: say('saving the result', 'gravando o resultado'),
  save: say('waiting for the AI', 'esperando a IA'),
}
const reading = say('reading the document', 'lendo o documento')

function nameOf({ code, step, worker }: Stuck): Saying {
  const what =
    step === null ? reading : (doing[step.split(' ')[0]!] ?? say(`after step ${step}`, `depois da etapa ${step}`))
  const where = worker === null ? '' : `, worker ${worker}`
  const name = `"${short(code ?? '?', 60).replaceAll('"', "'")}"`
  return say(`${name} (${what.en}${where})`, `${name} (${what.pt}${where})`)
}

function over(execution: Execution): Saying {
  const { concluidos, erros, pulados, total } = execution
  const skipped = pulados === 0 ? say('', '') : say(`, ${pulados} skipped`, `, ${count(pulados, 'pulado')}`)
  if (erros === 0)
    return say(
      `done: ${concluidos} of ${total} documents classified${skipped.en}; there is nothing to press`,
      `concluída: ${concluidos} de ${total} documentos classificados${skipped.pt}; não há o que pressionar`,
    )
  return say(
    `done with errors: ${concluidos} of ${total} documents classified${skipped.en}, ${erros} with an error: press reprocessar-erros to try only those again`,
    `concluída com erros: ${concluidos} de ${total} documentos classificados${skipped.pt}, ${erros} com erro: pressione reprocessar-erros para tentar só esses de novo`,
  )
}

function failed({ erros, max_retries, concluidos }: Execution): Saying {
  return say(
    `ended after ${count(max_retries, 'resume')} with ${count(erros, 'document')} in error: press reprocessar-erros to run only those again; what is done stays done (${concluidos})`,
    `encerrada após ${count(max_retries, 'retomada')} com ${count(erros, 'documento')} em erro: pressione reprocessar-erros para processar só o que está em erro; o que foi concluído fica (${concluidos})`,
  )
}

function progress({ total, concluidos, erros, pulados }: Execution): Saying {
  const ended = concluidos + erros + pulados
  const wrong = erros === 0 ? say('', '') : say(`, ${erros} with an error`, `, ${erros} com erro`)
  return say(`${ended} of ${total} documents ended${wrong.en}`, `${ended} de ${total} documentos encerrados${wrong.pt}`)
}
