/** The routes of the planner over an engine on the virtual clock. */
import { doorWith } from '../../../test/http/support.ts'
import { planner } from '../index.ts'
import { readPlannerSettings } from '../settings.ts'

/** `scheduleMemory`: bytes in place of the 1 GB of a schedule. */
export async function plannerDoor({ scheduleMemory }: { scheduleMemory?: number } = {}) {
  const system = planner({ settings: readPlannerSettings({}) })
  const schedule = system.jobs!.find(({ kind }) => kind === 'generate-schedule')!
  if (scheduleMemory !== undefined) Object.assign(schedule.policy, { memoryBytes: scheduleMemory })
  const door = await doorWith([], { systems: [system], app: { routes: system.routes } })
  const { ask, fetch } = door
  return {
    ...door,
    system,
    read: async (id: string) => (await ask('GET', `/api/planner/jobs/${id}`)).body,
    /** Returns the id. */
    generate: async (problem: object): Promise<string> =>
      (await ask('POST', '/api/planner/generate-schedule', { body: problem })).body.id,
    /** Returns the id. */
    upload: async (
      route: 'extract-demand' | 'generate-thumbnail',
      bytes: Uint8Array,
      name: string,
      headers: Record<string, string> = {},
    ): Promise<string> => {
      const form = new FormData()
      form.append('file', new File([new Uint8Array(bytes)], name))
      const response = await fetch(
        new Request(`http://127.0.0.1:3000/api/planner/${route}`, { method: 'POST', body: form, headers }),
      )
      const body = (await response.json()) as { id: string }
      if (response.status !== 202) throw new Error(JSON.stringify(body))
      return body.id
    },
  }
}

/** Three shifts of eight hours. */
export const shifts = [
  { name: 'Manhã', start: '07:00', end: '15:00' },
  { name: 'Tarde', start: '15:00', end: '23:00' },
  { name: 'Noite', start: '23:00', end: '07:00' },
]

/** Solved at once. */
export const smallProblem = {
  start: '2030-03-04',
  days: 2,
  people: [{ name: 'Ana' }, { name: 'Bia', avoids: ['Noite'] }, { name: 'Caio' }],
  shifts,
  demand: [
    { shift: 'Manhã', people: 1 },
    { shift: 'Noite', people: 1 },
  ],
}

/** The solver finds a first schedule within half a second, and needs some 7 seconds on a fast machine for the proof of the best. */
export const longProblem = {
  start: '2030-03-04',
  days: 28,
  people: Array.from({ length: 100 }, (_, index) => ({
    name: `P${index}`,
    avoids: index % 5 === 0 ? ['Noite'] : index % 7 === 0 ? ['Manhã'] : [],
    skills: index % 4 === 0 ? ['caixa'] : [],
  })),
  shifts,
  demand: shifts.map(({ name }) => ({ shift: name, people: 25, skills: { caixa: 6 } })),
  rules: { max_nights_per_week: 3 },
  allow_shortage: true,
  balance_hours: true,
}
