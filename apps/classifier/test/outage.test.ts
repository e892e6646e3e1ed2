/**
 * An outage of the AI during an execution, on the virtual clock: the execution pauses, probes once a minute, and resumes without a
 * person.
 */
import { minutes } from 'retoma'
import { expect, test } from 'vitest'
import { from, ok, refuses } from './behaviours.ts'
import type { OpenRouterServer } from './openrouter-server.ts'
import { realDoor } from './real-door.ts'

interface Outage {
  begins(server: OpenRouterServer): Promise<void> | void
  ends(server: OpenRouterServer): Promise<void> | void
  /** The cause in the sentence. */
  cause: RegExp
}

const everyAnswer500: Outage = {
  begins: server => server.behave(from(server.calls.length + 1, refuses(500))),
  ends: server => server.behave(ok()),
  cause: /500/,
}
const connectionsRefused: Outage = {
  begins: server => server.down(),
  ends: server => server.up(),
  cause: /OpenRouter/,
}

test.each([
  ['every answer is 500', everyAnswer500],
  ['connections are refused', connectionsRefused],
])(
  'an outage in which %s pauses the execution with its cause, makes no document ERRO, and the execution completes by itself',
  async (_, outage) => {
    const door = await realDoor()
    const { server, run, tick, clock, sql, ask } = door
    const id = await door.execution(120)
    const headers = { 'accept-language': 'pt-BR' }
    const status = async () => (await ask('GET', `/execucoes/${id}/status-detalhado`, { headers })).body
    // The outage begins during the questions.
    server.behave(({ n }) => {
      if (n === 30) void outage.begins(server)
      return ok()
    })
    await run()
    const paused = await status()
    expect(paused).toMatchObject({ status: 'PAUSADO', erros: 0 })
    expect(paused.diagnostico).toMatch(/^pausada porque \d+ documentos seguidos falharam do mesmo modo: /)
    expect(paused.diagnostico).toMatch(outage.cause)
    expect(paused.diagnostico).toContain('um documento por minuto tenta de novo')
    expect(paused.concluidos).toBeGreaterThan(0)
    expect(paused.concluidos + paused.pendentes).toBe(120)

    // Ten minutes of outage: longer than the three attempts of a document.
    const attempts = async () => {
      const [row] = await sql<{ n: string }>(
        `select sum(attempt) as n from retoma.job where kind = 'classify-document'`,
      )
      return Number(row!.n)
    }
    for (let minute = 1; minute <= 10; minute++) {
      const before = await attempts()
      await clock.advance(minutes(1))
      await tick()
      await run()
      expect((await attempts()) - before).toBe(1)
      expect(await status()).toMatchObject({ status: 'PAUSADO', erros: 0, concluidos: paused.concluidos })
    }

    await outage.ends(server)
    await clock.advance(minutes(1))
    await tick()
    await run()
    for (let n = 0; n < 5 && (await status()).status !== 'CONCLUIDO'; n++) {
      await clock.advance(minutes(1))
      await tick()
      await run()
    }
    expect(await status()).toMatchObject({ status: 'CONCLUIDO', concluidos: 120, erros: 0, pendentes: 0 })
  },
)
