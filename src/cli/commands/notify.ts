/** `retoma notify test`: posts a test notice to the webhook now and reports the response. Needs no database. */
import type { Command } from 'commander'
import { RetomaError } from '../../errors/errors.ts'
import { noticeOfTest } from '../../incidents/model/notice.ts'
import { judgeWebhookResponse } from '../../incidents/model/webhook-response.ts'
import { checkNotify } from '../../incidents/notice-job.ts'
import { postNotice, refusedBy } from '../../incidents/webhook.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Context } from '../command-context.ts'
import type { Cli } from '../program.ts'
import { notifyOf } from '../webhook-settings.ts'

export function notifyCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  const notify = program.command('notify').description(help.notify)
  notify.helpCommand(`help ${help.commandMark}`, help.helpCommand)
  notify.command('test').description(help.notifyTest).action(cli.action(test))
}

async function test({ output, settings }: Context): Promise<void> {
  const given = notifyOf(settings)
  if (given === undefined) throw new RetomaError('notify_unset', {})
  const { webhook, writing } = checkNotify(given)
  const now = systemClock.now()
  const answer = await postNotice(webhook, noticeOfTest(writing, now.toISOString()), 'test', { clock: systemClock })
  const { status, ms, retryAfter } = answer
  if (judgeWebhookResponse(status, retryAfter, now).verdict !== 'accepted') throw refusedBy(status)
  const signed = webhook.secret !== undefined
  output.answer({ sent: true, status, ms, signed }, [output.word.notify.sent(status, ms, signed)])
}
