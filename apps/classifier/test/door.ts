/**
 * The classifier's routes over an engine on the virtual clock, with a job in place of the real job: the code of each document decides the
 * outcome, so a test can bring an execution into any state.
 */
import { z } from 'zod'
import {
  type Duration,
  defineBatch,
  defineJob,
  doNotRetry,
  minutes,
  pauseBatch,
  providerStop,
  providerWait,
  seconds,
  skip,
} from '../../../src/index.ts'
import { doorWith } from '../../../test/http/support.ts'
import { aborted } from '../../../test/support/engine.ts'
import { routesOf } from '../routes/index.ts'
import { createRuns, type RunOptions } from '../runs.ts'

interface DoorOptions {
  /** Longer than the real timeout of a document, for a document that hangs. */
  timeout?: Duration
  /** True while the outside service fails. */
  isDown?: () => boolean
  /** Called when a document hangs. */
  begun?: () => void
}

const codeOf = `select code from classifier.document where id = $1`
const answered = `
  update classifier.document
  set category = $2, confidence = 0.9, justification = 'porque sim', model = 'm', tokens_in = 10, tokens_out = 2,
    cost_usd = 0.0123, simulated = false, answered_at = now()
  where id = $1`

const spent = `
  select from classifier.run r join classifier.document d on d.run_id = r.id
  where d.id = $1 and r.cost_usd >= r.cost_allowed_usd`
const pay = `
  update classifier.run set cost_usd = cost_usd + 1
  where id = (select run_id from classifier.document where id = $1)`

/**
 * The beginning of the code decides: `falha` fails for good, `tenta` fails and is retried, `pula` is skipped, `trava` hangs, `espera`
 * meets a provider wait and `crédito` a provider stop, `custo` costs a dollar.
 */
const standIn = ({ timeout = minutes(2), isDown = () => true, begun }: DoorOptions = {}) =>
  defineJob({
    kind: 'classify-document',
    queue: 'classifier',
    input: z.object({ document: z.string() }),
    maxAttempts: 3,
    backoff: { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 },
    timeout,
    async run(ctx, { document }) {
      const code = await ctx.transaction('read', async tx => {
        const { rows } = await tx.query<{ code: string }>(codeOf, [document])
        return rows[0]!.code
      })
      if (code.startsWith('trava') && isDown()) {
        begun?.()
        await aborted(ctx.signal)
      }
      if (code.startsWith('espera') && isDown())
        await ctx.provider('openrouter', () => {
          throw providerWait({ retryAfter: seconds(90), message: 'rate limit' })
        })
      if (code.startsWith('crédito') && isDown())
        await ctx.provider('openrouter', () => {
          throw providerStop({ code: '402', message: 'Insufficient credits' })
        })
      if (code.startsWith('custo')) {
        const { rows } = await ctx.query(spent, [document])
        if (rows.length > 0) throw pauseBatch({ code: 'cost_limit', message: 'limite de custo atingido' })
        await ctx.transaction('pay', tx => tx.query(pay, [document]))
      }
      if (code.startsWith('falha')) throw doNotRetry(new Error('o documento não pôde ser lido'))
      if (code.startsWith('tenta') && isDown()) throw new Error('a IA não respondeu')
      if (code.startsWith('pula')) return skip('documento vazio')
      await ctx.transaction('save', tx => tx.query(answered, [document, 'Contrato']))
      return null
    },
  })

export function standInBatch(options: DoorOptions = {}): RunOptions['classification'] {
  const stall = { stallAfter: minutes(5), onStall: 'stall', maxResumes: 3 } as const
  return defineBatch({ name: 'classification', job: standIn(options), ...stall })
}

export async function classifierDoor(options: DoorOptions = {}) {
  const classification = standInBatch(options)
  const runs = createRuns({ classification, model: 'm', isSimulated: false })
  const given = { jobs: [runs.openRun], batches: [classification], schedules: [runs.tidy] }
  const { jobs, ...others } = given
  const door = await doorWith(jobs, { ...others, app: { routes: routesOf(runs) } })
  runs.attach(door.engine)
  const { ask, tick, clock } = door

  const project = async (more: object = {}): Promise<string> => {
    const body = { nome: 'Contratos', categorias: ['Contrato', 'Outro'], ...more }
    return (await ask('POST', '/projetos', { body })).body.id
  }

  /** Returns the id of an execution of texts, in the given project or in a new project. */
  const execution = async (codes: readonly string[], projeto_id?: string): Promise<string> => {
    const documentos = codes.map(codigo => ({ codigo, texto: `texto de ${codigo}` }))
    const body = { projeto_id: projeto_id ?? (await project()), documentos }
    return (await ask('POST', '/execucoes', { body })).body.id
  }

  return {
    ...door,
    runs,
    project,
    execution,
    async executions(many: number, codes: readonly string[], projeto_id?: string): Promise<string[]> {
      const of = projeto_id ?? (await project())
      const ids: string[] = []
      while (ids.length < many) ids.push(await execution(codes, of))
      return ids
    },
    act: (id: string, action: string, more: object = {}) => ask('POST', `/execucoes/${id}/${action}`, more),
    status: async (id: string) => (await ask('GET', `/execucoes/${id}/status-detalhado`)).body,
    /** Lets more time pass than the stall limit, with frequent watchdog checks. */
    async nobodyWorks(): Promise<void> {
      for (let passed = 0; passed <= 330; passed += 9) {
        await tick()
        await clock.advance(seconds(9))
      }
      await tick()
    },
  }
}
