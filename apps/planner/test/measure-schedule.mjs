/** Prints the time of a schedule of 20 people, 7 days and 3 shifts: `npm run build`, then `node apps/planner/test/measure-schedule.mjs`. */
import { problem } from '../dist/schedule/problem.js'
import { loadSolver } from '../dist/schedule/solve.js'

const shifts = [
  { name: 'Manhã', start: '07:00', end: '15:00' },
  { name: 'Tarde', start: '15:00', end: '23:00' },
  { name: 'Noite', start: '23:00', end: '07:00' },
]
const given = problem.parse({
  start: '2030-03-04',
  days: 7,
  people: Array.from({ length: 20 }, (_, index) => ({
    name: `P${index}`,
    skills: index % 4 === 0 ? ['caixa'] : [],
    prefers: index % 3 === 0 ? ['Manhã'] : [],
    avoids: index % 5 === 0 ? ['Noite'] : [],
  })),
  shifts,
  demand: shifts.map(({ name }) => ({ shift: name, people: 4, skills: { caixa: 1 } })),
  rules: { max_nights_per_week: 3 },
})
const solve = await loadSolver()
for (let run = 0; run < 3; run++) {
  const { status, seconds } = solve(given).schedule
  console.log(`${status}: ${seconds} s`)
}
