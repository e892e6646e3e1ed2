/** The jobs of the pictures: what a small company runs at night. */
import { setTimeout as pause } from 'node:timers/promises'
import {
  defineBatch,
  defineGuard,
  defineJob,
  defineSchedule,
  doNotRetry,
  hours,
  minutes,
  providerStop,
  providerWait,
  seconds,
  skip,
} from 'retoma'

/** Ends when the picture is taken: the signal of the attempt ends the wait. */
const forever = ctx => pause(3_600_000, undefined, { signal: ctx.signal })

const few = { first: seconds(0.3), factor: 1, max: seconds(1), jitter: 0 }

const importInvoice = defineJob({
  kind: 'invoice.import',
  queue: 'invoices',
  maxAttempts: 1,
  async run(ctx, { n, ends }) {
    if (ends === 'hangs') return forever(ctx)
    await pause(3 + (n % 7))
    if (ends === 'tax') throw doNotRetry(new Error('O CNPJ do emitente não existe na Receita Federal'))
    if (ends === 'gateway') throw new Error('HTTP 502 from https://nfe.fazenda.gov.br: Bad Gateway')
    if (ends === 'copy') return skip('nota já importada')
    return { total: (n * 37.9).toFixed(2), items: (n % 9) + 1 }
  },
})

export const invoices = defineBatch({
  name: 'notas-fiscais',
  job: importInvoice,
  stallAfter: seconds(8),
  maxResumes: 3,
})
export const slowInvoices = defineBatch({ name: 'notas-de-maio', job: importInvoice, maxResumes: 3 })

const sendNewsletter = defineJob({
  kind: 'newsletter.send',
  queue: 'email',
  maxAttempts: 1,
  run: async () => ({ ok: true }),
})
export const newsletter = defineBatch({ name: 'boletim-semanal', job: sendNewsletter })

export const sendEmail = defineJob({
  kind: 'email.send',
  queue: 'email',
  maxAttempts: 2,
  backoff: few,
  async run(ctx, { to }) {
    ctx.log.info({ to }, 'conectando ao servidor SMTP')
    await pause(20)
    if (to.includes('cheia')) throw doNotRetry(new Error(`552 5.2.2 Mailbox full: ${to}`))
    if (to.includes('lenta')) throw new Error('421 4.7.0 Too many connections, try again later')
    return { id: `<${to}>`, accepted: 1 }
  },
})

/** Steps, a sleep, a failure and a second attempt: everything that the timeline of a job shows. */
export const closeMonth = defineJob({
  kind: 'report.close-month',
  queue: 'reports',
  maxAttempts: 3,
  backoff: { first: seconds(1), factor: 1, max: seconds(2), jitter: 0 },
  async run(ctx, { month, ends = 'well' }) {
    ctx.log.info({ month }, 'lendo os lançamentos')
    const rows = await ctx.step('ler-lancamentos', async () => {
      await pause(700)
      return { count: 18_204, accounts: ['caixa', 'bancos', 'clientes'], sum: '1284503.17' }
    })
    ctx.log.info({ rows: rows.count }, 'lançamentos lidos')
    await ctx.step('converter-moedas', async () => {
      await pause(400)
      return { usd: 5.4312, eur: 5.9021 }
    })
    await ctx.sleep('esperar-o-banco', seconds(0.8))
    if (ctx.attempt === 2) {
      ctx.log.warn({ host: 'erp.local' }, 'o ERP não respondeu em 500 ms')
      await pause(500)
      throw new Error('connect ETIMEDOUT erp.local:8443 (ao gravar o fechamento)')
    }
    await ctx.step('gravar-fechamento', () => pause(600).then(() => ({ written: 18_204 })))
    if (ends === 'slow') {
      await ctx.progress({ done: 7, total: 12, note: 'filial 7: Recife' })
      ctx.log.info({ branch: 'Recife' }, 'conferindo a filial 7 de 12')
      await forever(ctx)
    }
    ctx.log.info({ pdf: 'fechamento.pdf', bytes: 48_211 }, 'relatório pronto')
    return { month, total: '1284503.17', pages: 14, branches: { Recife: '98211.40', 'São Paulo': '702340.11' } }
  },
})

export const classifyTicket = defineJob({
  kind: 'ticket.classify',
  queue: 'support',
  run: (ctx, { refuses }) =>
    ctx.provider(refuses === 'stops' ? 'openai' : 'anthropic', () => {
      if (refuses === 'waits')
        throw providerWait({
          retryAfter: minutes(12),
          code: '429',
          message: 'This request would exceed your rate limit of 50 requests per minute',
        })
      if (refuses === 'stops')
        throw providerStop({
          code: '402',
          message: 'You exceeded your current quota, please check your plan and billing details',
        })
      return { label: 'cobrança' }
    }),
})

const tidy = defineJob({ kind: 'files.tidy', queue: 'reports', run: () => ({ removed: 12 }) })

const jobs = [importInvoice, sendNewsletter, sendEmail, closeMonth, classifyTicket, tidy]
const batches = [invoices, slowInvoices, newsletter]
const schedules = [
  defineSchedule({
    name: 'fechamento-mensal',
    job: closeMonth,
    input: { month: '2026-05' },
    cron: '0 6 1 * *',
    timeZone: 'America/Sao_Paulo',
  }),
  defineSchedule({ name: 'limpar-arquivos', job: tidy, every: minutes(15) }),
  defineSchedule({ name: 'relatorio-diario', job: tidy, cron: '30 7 * * 1-5', timeZone: 'America/Sao_Paulo' }),
]
const guards = [
  defineGuard({
    name: 'pedidos',
    table: 'orders',
    status: { column: 'status', running: ['PROCESSING'] },
    signal: 'updated_at',
    after: minutes(10),
    set: { status: 'FAILED', error_message: 'sem sinal há 10 min' },
  }),
  defineGuard({
    name: 'remessas',
    table: 'shipments',
    status: { column: 'status', running: ['SENDING'] },
    signal: 'updated_at',
    after: hours(1),
    set: { status: 'LOST' },
  }),
]

export const definitions = { jobs, batches, schedules, guards }
