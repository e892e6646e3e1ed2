/**
 * Posts the state of an execution to the webhook of the execution, as a job of its own queue: signed and retried like the notices of the
 * engine. A receiver that hangs takes no place of a document.
 *
 * Invariant: every attempt posts the same body, made once. A message is posted for each end: a document that runs again ends the execution
 * again. The batch enqueues the message of a completion; a schedule finds the other states, and writes the state and the job in a single
 * transaction, so that the webhook receives a state once.
 */
import {
  defineJob,
  defineSchedule,
  doNotRetry,
  type Engine,
  type Job,
  localized,
  minutes,
  RetomaError,
  type Schedule,
  seconds,
  snooze,
} from 'retoma'
import { clockOf, deliverWebhook, type WebhookNotice, webhookPolicy } from 'retoma/http'
import { z } from 'zod'
import { errors } from './errors.ts'
import { allowedAddresses } from './link-local.ts'
import { currency, exactly } from './money.ts'
import { type Execution, readExecution } from './store/executions.ts'
import { countByCategory } from './store/results.ts'
import { forgetTold, noteTold, readUntold, readWebhook, type Told } from './store/webhooks.ts'

export const noticeQueue = 'classifier-notices'

export interface Notices {
  notice: Job<{ batch: string; status?: Told | undefined }>
  /** Finds executions that have ended without a completion, or that stand still. */
  watch: Schedule
}

export function createNotices(engine: () => Engine): Notices {
  const notice = defineJob({
    kind: 'notify-execution',
    internal: true,
    queue: noticeQueue,
    input: z.object({ batch: z.string(), status: z.enum(['ERRO', 'CANCELADO', 'TRAVADO', 'PAUSADO']).optional() }),
    ...webhookPolicy,
    async run(ctx, { batch, status }) {
      const webhook = await readWebhook(engine(), batch)
      if (webhook === undefined) return null
      const { run, url, secret } = webhook
      // The process that made the execution died; a job writes the batch.
      if (!webhook.hasBatch) return snooze(seconds(5))
      // The notice goes to these addresses only: the name may lead elsewhere a moment later.
      const addresses = await allowedAddresses(new URL(url).hostname)
      if (addresses === undefined) throw doNotRetry(new RetomaError(errors.webhook_refused, { id: run }))
      const message = await ctx.step('notice', () => noticeFor(engine(), run, status ?? 'CONCLUIDO'))
      return deliverWebhook(engine(), ctx, { url, secret, addresses }, message)
    },
  })
  const tell = defineJob({
    kind: 'watch-executions',
    internal: true,
    queue: noticeQueue,
    timeout: minutes(1),
    run: () => tellStates(engine(), notice),
  })
  return {
    notice,
    watch: defineSchedule({ name: 'watch-executions', every: minutes(1), job: tell, input: undefined }),
  }
}

async function tellStates(engine: Engine, notice: Notices['notice']): Promise<void> {
  await forgetTold(engine)
  for (const { run, batch, status, key } of await readUntold(engine))
    await engine.transaction(async tx => {
      if (await noteTold(tx, run, key)) await engine.enqueue(notice, { batch, status }, { tx })
    })
}

async function noticeFor(engine: Engine, run: string, status: Told | 'CONCLUIDO'): Promise<WebhookNotice> {
  const found = await readExecution(engine, run, clockOf(engine).instant())
  if (found === undefined) throw new RetomaError('not_found', { what: localized('execution', 'execução'), id: run })
  const categories = await countByCategory(engine, run)
  return noticeOf(found, categories, status)
}

const told: Readonly<Record<Told | 'CONCLUIDO', { event: string; words: string }>> = {
  CONCLUIDO: { event: 'execucao.concluida', words: 'terminou' },
  ERRO: { event: 'execucao.erro', words: 'foi encerrada depois de travar' },
  CANCELADO: { event: 'execucao.cancelada', words: 'foi cancelada' },
  TRAVADO: { event: 'execucao.travada', words: 'travou' },
  PAUSADO: { event: 'execucao.pausada', words: 'foi pausada pelo sistema' },
}

function noticeOf(
  found: Execution,
  categories: readonly { categoria: string | null; documentos: number }[],
  status: Told | 'CONCLUIDO',
): WebhookNotice {
  const { event, words } = told[status]
  const { id, total, concluidos, erros, pulados } = found
  const failed = erros === 0 ? '' : `, ${erros} com erro`
  const skipped = pulados === 0 ? '' : `, ${pulados} ${pulados === 1 ? 'pulado' : 'pulados'}`
  return {
    event,
    severity: status === 'CONCLUIDO' && erros === 0 ? 'info' : status === 'ERRO' ? 'critical' : 'warning',
    sentence: `A execução ${id} (${found.projeto}) ${words}: ${concluidos} de ${total} documentos classificados${failed}${skipped}.`,
    link: null,
    facts: {
      execucao_id: id,
      projeto_id: found.projeto_id,
      status,
      total,
      concluidos,
      erros,
      pulados,
      custo_usd_exato: exactly(found.custo_usd),
      moeda: currency,
      categorias: Object.fromEntries(
        categories.flatMap(each => (each.categoria === null ? [] : [[each.categoria, each.documentos]])),
      ),
      simulado: found.simulado ?? false,
    },
  }
}
