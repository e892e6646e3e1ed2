/** A job as an application would write it, for the test beside it. */
import { defineJob, minutes, seconds } from 'retoma'

export interface Mailer {
  send(to: string, text: string): Promise<void>
}

export const remindOf = (mailer: Mailer) =>
  defineJob({
    kind: 'remind-of-invoice',
    maxAttempts: 3,
    backoff: { first: seconds(30), factor: 2, max: minutes(10), jitter: 0 },
    run: async (ctx, invoice: { number: string; email: string }) => {
      ctx.log.info({ invoice: invoice.number }, 'reminding')
      await mailer.send(invoice.email, `Invoice ${invoice.number} is due`)
      return { sentTo: invoice.email }
    },
  })
