/**
 * Explains a job without an eligible worker: no live worker, no live worker of the queue, or none with the kind or this version.
 */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import type { EligibleWorkersFacts } from './explain-facts.ts'
import { listed, quoted, typed } from './sentence-parts.ts'

interface Wanted {
  queue: string
  kind: string
  version: number
}

/** Returns the rest of a sentence, such as `no live worker serves queue "mail"`; undefined: an eligible worker lives. */
export function whyNoWorker(
  { queue, kind, version }: Wanted,
  eligibleWorkers: EligibleWorkersFacts,
): LocalizedText | undefined {
  if (eligibleWorkers.taking > 0) return undefined
  if (eligibleWorkers.live === 0) return localized('no worker is alive', 'nenhum worker está vivo')
  if (eligibleWorkers.serving === 0) {
    const served = listed(eligibleWorkers.queues)
    return localized(
      `no live worker serves queue ${quoted(queue)} (they serve ${served})`,
      `nenhum worker vivo atende a fila ${quoted(queue)} (eles atendem ${served})`,
    )
  }
  if (eligibleWorkers.knowing === 0) {
    const known = listed(eligibleWorkers.kinds)
    return localized(
      `no live worker of queue ${quoted(queue)} knows the kind ${quoted(kind)} (they know ${known})`,
      `nenhum worker vivo da fila ${quoted(queue)} conhece o tipo ${quoted(kind)} (eles conhecem ${known})`,
    )
  }
  const versions = listed(eligibleWorkers.versions)
  return localized(
    `no live worker of queue ${quoted(queue)} runs version ${version} of ${quoted(kind)} (they run ${versions})`,
    `nenhum worker vivo da fila ${quoted(queue)} roda a versão ${version} de ${quoted(kind)} (eles rodam ${versions})`,
  )
}

/** Returns the advice to get an eligible worker. */
export function startWorker(
  { queue }: Wanted,
  eligibleWorkers: EligibleWorkersFacts,
): { text: LocalizedText; command: string | null } {
  if (eligibleWorkers.serving > 0)
    return {
      text: localized(
        'deploy the code that has it, or add it to the jobs of those workers; nothing is lost until then',
        'publique o código que o tem, ou junte-o aos jobs desses workers; nada se perde até lá',
      ),
      command: null,
    }
  return {
    text: localized('start a worker that serves the queue', 'inicie um worker que atenda a fila'),
    command: `retoma worker --queues ${typed(queue)}`,
  }
}

/** Advises a deploy if the queue has a worker, otherwise the start of a worker. */
export const bringing = ({ serving }: EligibleWorkersFacts): 'deploy' | 'start_worker' =>
  serving > 0 ? 'deploy' : 'start_worker'
