import { expect, test } from 'vitest'
import { HeavyRequests } from './heavy-requests.ts'

test('so many expensive requests are worked on at once, and each user who waits has a turn after the other', async () => {
  const work = new HeavyRequests(1)
  const began: string[] = []
  const come = async (user: string) => {
    const turn = work.open(user)
    await turn.take()
    began.push(user)
    return turn
  }
  const first = await come('ana')
  const waiting = ['ana', 'ana', 'rui', 'rui', 'eva'].map(user => come(user).then(turn => turn.release()))
  expect(began).toEqual(['ana'])
  first.release()
  first.release() // a second release has no effect
  await Promise.all(waiting)
  expect(began).toEqual(['ana', 'ana', 'rui', 'eva', 'ana', 'rui'])
})

test('one expensive request more than may wait is 503 with Retry-After', async () => {
  const work = new HeavyRequests(1, 1)
  const first = work.open('ana')
  await first.take()
  const second = work.open('ana').take()
  await expect(work.open('rui').take()).rejects.toMatchObject({ code: 'server_busy', retryAfterSeconds: 2 })
  first.release()
  await second
})
