/** Explains a queue: its jobs, its workers, and the obstacle if the jobs do not advance. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import type { QueueFacts } from './explain-facts.ts'
import { whyLimited } from './explain-limits.ts'
import { whyNoWorker } from './explain-no-worker.ts'
import { besidesProvider } from './explain-provider.ts'
import type { LocalizedExplanation } from './explanation.ts'
import {
  append,
  counted,
  explained,
  listed,
  nothing,
  quoted,
  since,
  typed,
  until,
  upToMost,
  wait,
} from './sentence-parts.ts'

export function explainQueue(facts: QueueFacts): LocalizedExplanation {
  const { paused, ready, eligibleWorkers } = facts
  const name = quoted(facts.queue)
  if (paused)
    return explained(
      'paused',
      append(
        localized(
          `queue ${name} is paused: nothing more of it starts`,
          `a fila ${name} está pausada: nada mais dela começa`,
        ),
        depth(facts),
      ),
      'resume',
      localized('resume it when it is time', 'retome quando for a hora'),
      `retoma queues resume ${typed(facts.queue)}`,
    )
  if (ready.jobs === 0) return nothingReady(facts, name)
  if (eligibleWorkers.serving === 0) {
    const nobody = whyNoWorker({ queue: facts.queue, kind: '', version: 1 }, eligibleWorkers)!
    return explained(
      'starved',
      append(
        localized(`queue ${name} has ready jobs and ${nobody.en}`, `a fila ${name} tem jobs prontos e ${nobody.pt}`),
        depth(facts),
      ),
      'start_worker',
      localized('start a worker that serves it', 'inicie um worker que a atenda'),
      `retoma worker --queues ${typed(facts.queue)}`,
    )
  }
  return starved(facts, name) ?? inTheWay(facts, name) ?? moves(facts, name)
}

/** Explains a queue to a person who may not learn how many jobs the queue has: whether the queue is paused, and whether a worker serves the queue. */
export function explainQueueWithoutCounts({ queue, paused, eligibleWorkers }: QueueFacts): LocalizedExplanation {
  const name = quoted(queue)
  if (paused)
    return explained(
      'paused',
      localized(
        `queue ${name} is paused: nothing more of it starts`,
        `a fila ${name} está pausada: nada mais dela começa`,
      ),
      'resume',
      localized('resume it when it is time', 'retome quando for a hora'),
      `retoma queues resume ${typed(queue)}`,
    )
  if (eligibleWorkers.serving === 0) {
    const nobody = whyNoWorker({ queue, kind: '', version: 1 }, eligibleWorkers)!
    return explained(
      'starved',
      nobody,
      'start_worker',
      localized('start a worker that serves it', 'inicie um worker que a atenda'),
      `retoma worker --queues ${typed(queue)}`,
    )
  }
  return explained(
    'ok',
    localized(
      `workers serve queue ${name}; its jobs are private, and only an admin sees how many there are`,
      `há workers que atendem a fila ${name}; os jobs dela são privados, e só um admin vê quantos são`,
    ),
    'nothing',
    localized('nothing to do', 'nada a fazer'),
  )
}

function nothingReady(facts: QueueFacts, name: string): LocalizedExplanation {
  const { running, dueAt, now, eligibleWorkers } = facts
  const next =
    dueAt === null
      ? nothing
      : localized(`; the next is due in ${until(dueAt, now)}`, `; o próximo vence em ${until(dueAt, now)}`)
  const nobody = whyNoWorker({ queue: facts.queue, kind: '', version: 1 }, eligibleWorkers)
  const alone = nobody === undefined ? nothing : localized(`; ${nobody.en}`, `; ${nobody.pt}`)
  const sentence =
    running.jobs === 0
      ? localized(
          `queue ${name} is idle: nothing is ready and nothing runs`,
          `a fila ${name} está ociosa: nada pronto e nada rodando`,
        )
      : localized(
          `queue ${name} keeps up: nothing waits, ${upToMost(running).en} running`,
          `a fila ${name} está em dia: nada espera, ${upToMost(running).pt} rodando`,
        )
  const provider = besidesProvider(facts.provider, now)
  return explained('ok', append(sentence, next, provider, alone), 'nothing', localized('nothing to do', 'nada a fazer'))
}

function starved(facts: QueueFacts, name: string): LocalizedExplanation | undefined {
  if (facts.starved.length === 0) return undefined
  const kinds = listed(facts.starved.map(({ kind, version }) => (version === 1 ? kind : `${kind} v${version}`)))
  const jobs = facts.starved.reduce((sum, each) => sum + each.jobs, 0)
  const n = upToMost({ jobs, more: facts.ready.more && jobs >= facts.ready.jobs })
  return explained(
    'starved',
    append(
      localized(
        `queue ${name} has ready jobs that none of its live workers takes: ${n.en} of ${kinds}`,
        `a fila ${name} tem jobs prontos que nenhum dos seus workers vivos pega: ${n.pt} de ${kinds}`,
      ),
      depth(facts),
    ),
    'deploy',
    localized(
      'deploy the code that has these kinds; nothing is lost until then',
      'publique o código que tem esses tipos; nada se perde até lá',
    ),
  )
}

function inTheWay(facts: QueueFacts, name: string): LocalizedExplanation | undefined {
  const { ready, claimsBlocked, eligibleWorkers, now, hung } = facts
  if (claimsBlocked >= ready.jobs)
    return explained(
      'paused',
      append(
        localized(
          `queue ${name} has nothing that may start: what is ready belongs to batches that are paused, stalled or over`,
          `a fila ${name} não tem nada que possa começar: o que está pronto é de lotes pausados, travados ou encerrados`,
        ),
        depth(facts),
        besidesProvider(facts.provider, now),
      ),
      'resume',
      localized('look at its batches', 'veja os lotes dela'),
      'retoma batch list',
    )
  const limited = whyLimited(facts.limits, { queue: null, groupKey: null }, now)
  if (limited !== undefined)
    return explained(
      'limited',
      append(
        localized(`queue ${name} is at its limit: ${limited.en}`, `a fila ${name} está no limite: ${limited.pt}`),
        depth(facts),
      ),
      'wait',
      localized('wait, or raise the limit', 'espere, ou aumente o limite'),
    )
  const [first] = hung
  if (first !== undefined && eligibleWorkers.blocked === eligibleWorkers.serving)
    return explained(
      'hung',
      append(
        localized(
          `queue ${name} stands: the event loop of ${eligibleWorkers.serving === 1 ? 'its only worker' : `all its ${eligibleWorkers.serving} workers`} is blocked, of ${quoted(first.id)} for ${since(first.blockedSince!, now)}`,
          `a fila ${name} está parada: o event loop de ${eligibleWorkers.serving === 1 ? 'seu único worker' : `todos os seus ${eligibleWorkers.serving} workers`} está bloqueado, o de ${quoted(first.id)} há ${since(first.blockedSince!, now)}`,
        ),
        depth(facts),
      ),
      'restart_worker',
      localized(
        `start another worker, or kill process ${first.pid} on ${quoted(first.host)}: its jobs run again elsewhere`,
        `inicie outro worker, ou mate o processo ${first.pid} em ${quoted(first.host)}: seus jobs rodam de novo em outro lugar`,
      ),
    )
  return undefined
}

function moves(facts: QueueFacts, name: string): LocalizedExplanation {
  const { eligibleWorkers, hung } = facts
  const blocked =
    hung.length === 0
      ? nothing
      : localized(
          `; ${eligibleWorkers.blocked} of its ${eligibleWorkers.serving} ${eligibleWorkers.serving === 1 ? 'worker' : 'workers'} blocked`,
          `; ${eligibleWorkers.blocked} de ${eligibleWorkers.serving} ${eligibleWorkers.serving === 1 ? 'worker bloqueado' : 'workers bloqueados'}`,
        )
  if (eligibleWorkers.free === 0)
    return explained(
      'busy',
      append(
        eligibleWorkers.slots === 1
          ? localized(
              `queue ${name} is busy: the only slot of its worker is taken`,
              `a fila ${name} está ocupada: a única vaga de seu worker está tomada`,
            )
          : localized(
              `queue ${name} is busy: all ${counted(eligibleWorkers.slots).en} slots of its workers are taken`,
              `a fila ${name} está ocupada: as ${counted(eligibleWorkers.slots).pt} vagas de seus workers estão tomadas`,
            ),
        depth(facts),
        blocked,
      ),
      'wait',
      localized('wait, or start another worker', 'espere, ou inicie outro worker'),
    )
  return explained(
    'ok',
    append(
      localized(`queue ${name} is being worked off`, `a fila ${name} está sendo atendida`),
      depth(facts),
      blocked,
      besidesProvider(facts.provider, facts.now),
    ),
    'wait',
    wait,
  )
}

/** `; 340 ready, the oldest for 2 min, 20 running` */
function depth({ ready, running, oldestAt, now }: QueueFacts): LocalizedText {
  const oldest =
    oldestAt === null
      ? nothing
      : localized(`, the oldest for ${since(oldestAt, now)}`, `, o mais antigo há ${since(oldestAt, now)}`)
  return append(
    localized(
      `; ${upToMost(ready).en} ready`,
      `; ${upToMost(ready).pt} ${ready.jobs === 1 && !ready.more ? 'pronto' : 'prontos'}`,
    ),
    oldest,
    localized(`, ${upToMost(running).en} running`, `, ${upToMost(running).pt} rodando`),
  )
}
