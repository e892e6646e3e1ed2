/** Writes the demand as a table for a spreadsheet. */
import { lineOf, mark } from '../schedule/csv.ts'
import type { ExtractedDemand } from './index.ts'

const weekdays = ['domingo', 'segunda', 'terça', 'quarta', 'quinta', 'sexta', 'sábado']

export const demandCsv = ({ demand }: ExtractedDemand): string =>
  mark +
  lineOf(['dia_da_semana', 'hora', 'visitas', 'media_por_dia']) +
  demand.map(({ weekday, hour, visits, average }) => lineOf([weekdays[weekday]!, hour, visits, average])).join('')
