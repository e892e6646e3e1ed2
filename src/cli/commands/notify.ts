/** `retoma notify test`: posts a test notice to the webhook now and reports the response. Needs no database. */
import type { Command } from 'commander'
import { noticeOfTest } from '../../core/notice.ts'
import { judgeAnswer } from '../../core/notice-answer.ts'
import { checkNotify } from '../../engine/notify.ts'
import { postNotice, refusedBy } from '../../engine/webhook.ts'
import { RetomaError } from '../../errors.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Context } from '../context.ts'
import { notifyOf } from '../notify.ts'
import type { Cli } from '../program.ts'

export function notifyCommand(program: Command, cli: Cli): void {
  const { help } = cli.voice.word
  const notify = program.command('notify').description(help.notify)
  notify.helpCommand(`help ${help.commandMark}`, help.helpCommand)
  notify.command('test').description(help.notifyTest).action(cli.action(test))
}

async function test({ voice, settings }: Context): Promise<void> {
  const given = notifyOf(settings)
  if (given === undefined) throw new RetomaError('notify_unset', {})
  const { webhook, writing } = checkNotify(given)
  const now = systemClock.now()
  const answer = await postNotice(webhook, noticeOfTest(writing, now.toISOString()), 'test', { clock: systemClock })
  const { status, ms, retryAfter } = answer
  if (judgeAnswer(status, retryAfter, now).what !== 'told') throw refusedBy(status)
  const signed = webhook.secret !== undefined
  voice.answer({ told: true, status, ms, signed }, [voice.word.notify.told(status, ms, signed)])
}
