import { expect, test } from 'vitest'
import { webhook } from '../../test/support/webhook.ts'
import { systemClock } from '../lib/clock.ts'
import { postNotice } from './webhook.ts'

const notice = { event: 'x', severity: 'info', sentence: 'It is over.', link: null, facts: {} } as const

test('a notice goes to the addresses that the caller has checked, whatever the name of the host leads to', async () => {
  const receiver = await webhook()
  const url = receiver.url.replace('127.0.0.1', 'receiver.invalid')
  const post = (addresses: { address: string; family: number }[]) =>
    postNotice({ url, addresses }, notice, '1', { clock: systemClock })
  expect(await post([{ address: '127.0.0.1', family: 4 }])).toMatchObject({ status: 204 })
  expect(receiver.posts.map(({ headers }) => headers.host)).toEqual([new URL(url).host])
  await expect(post([])).rejects.toMatchObject({ code: 'notify_failed', message: expect.stringContaining('ENOTFOUND') })
})
