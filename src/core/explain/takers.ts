/** Whether anybody is there to run it: no live worker at all, none of the queue, none that knows the kind or this version. */
import { type Saying, say } from '../../errors.ts'
import type { TakersFacts } from './facts.ts'
import { listed, quoted, typed } from './words.ts'

interface Wanted {
  queue: string
  kind: string
  version: number
}

/** As the rest of a sentence, such as `no live worker serves queue "mail"`; undefined: somebody takes it. */
export function whyNobody({ queue, kind, version }: Wanted, takers: TakersFacts): Saying | undefined {
  if (takers.taking > 0) return undefined
  if (takers.live === 0) return say('no worker is alive', 'nenhum worker está vivo')
  if (takers.serving === 0) {
    const served = listed(takers.queues)
    return say(
      `no live worker serves queue ${quoted(queue)} (they serve ${served})`,
      `nenhum worker vivo atende a fila ${quoted(queue)} (eles atendem ${served})`,
    )
  }
  if (takers.knowing === 0) {
    const known = listed(takers.kinds)
    return say(
      `no live worker of queue ${quoted(queue)} knows the kind ${quoted(kind)} (they know ${known})`,
      `nenhum worker vivo da fila ${quoted(queue)} conhece o tipo ${quoted(kind)} (eles conhecem ${known})`,
    )
  }
  const versions = listed(takers.versions)
  return say(
    `no live worker of queue ${quoted(queue)} runs version ${version} of ${quoted(kind)} (they run ${versions})`,
    `nenhum worker vivo da fila ${quoted(queue)} roda a versão ${version} de ${quoted(kind)} (eles rodam ${versions})`,
  )
}

/** What brings one. */
export function bringOne({ queue }: Wanted, takers: TakersFacts): { text: Saying; command: string | null } {
  if (takers.serving > 0)
    return {
      text: say(
        'deploy the code that has it, or add it to the jobs of those workers; nothing is lost until then',
        'publique o código que o tem, ou junte-o aos jobs desses workers; nada se perde até lá',
      ),
      command: null,
    }
  return {
    text: say('start a worker that serves the queue', 'inicie um worker que atenda a fila'),
    command: `retoma worker --queues ${typed(queue)}`,
  }
}

/** The advice is to deploy where there is a worker, to start one where there is none. */
export const bringing = ({ serving }: TakersFacts): 'deploy' | 'start_worker' =>
  serving > 0 ? 'deploy' : 'start_worker'
