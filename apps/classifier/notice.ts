/**
 * Posts the end of an execution to the webhook of the execution, as a job of its own: signed and retried like the notices of the engine.
 *
 * Invariant: every attempt posts the same body, made once at the end of the execution. A message is posted for each end: a document that
 * runs again ends the execution again.
 */
import { defineJob, type Engine, type Job, localized, RetomaError } from 'retoma'
import { clockOf, deliverWebhook, type WebhookNotice, webhookPolicy } from 'retoma/http'
import { z } from 'zod'
import { currency, exactly } from './money.ts'
import { type Execution, readExecution } from './store/executions.ts'
import { countByCategory } from './store/results.ts'
import { readWebhook } from './store/runs.ts'

export const noticeJob = (queue: string, engine: () => Engine): Job<{ batch: string }> =>
  defineJob({
    kind: 'notify-execution',
    internal: true,
    queue,
    input: z.object({ batch: z.string() }),
    ...webhookPolicy,
    async run(ctx, { batch }) {
      const webhook = await readWebhook(engine(), batch)
      if (webhook === undefined) return null
      const notice = await ctx.step('notice', () => noticeFor(engine(), webhook.run))
      return deliverWebhook(engine(), ctx, webhook, notice)
    },
  })

async function noticeFor(engine: Engine, run: string): Promise<WebhookNotice> {
  const found = await readExecution(engine, run, clockOf(engine).instant())
  if (found === undefined) throw new RetomaError('not_found', { what: localized('execution', 'execução'), id: run })
  const categories = await countByCategory(engine, run)
  return noticeOf(found, categories)
}

function noticeOf(
  found: Execution,
  categories: readonly { categoria: string | null; documentos: number }[],
): WebhookNotice {
  const { id, total, concluidos, erros, pulados } = found
  const failed = erros === 0 ? '' : `, ${erros} com erro`
  const skipped = pulados === 0 ? '' : `, ${pulados} ${pulados === 1 ? 'pulado' : 'pulados'}`
  return {
    event: 'execucao.concluida',
    severity: erros === 0 ? 'info' : 'warning',
    sentence: `A execução ${id} (${found.projeto}) terminou: ${concluidos} de ${total} documentos classificados${failed}${skipped}.`,
    link: null,
    facts: {
      execucao_id: id,
      projeto_id: found.projeto_id,
      status: 'CONCLUIDO',
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
