/**
 * Watches the problems of the whole system on every page, also while the tab is hidden: the title and the icon of the window show trouble,
 * and people see both of a tab that they do not look at.
 */
import { useEffect } from 'react'
import { useApi } from '../api/query.ts'
import { setTrouble } from './window-title.ts'

const everyMs = 30_000

export function TroubleWatch() {
  const { data } = useApi('GET /api/v1/stats/health', {}, { every: everyMs, inBackground: true })
  const count = data?.problems.filter(each => each.severity !== 'info').length ?? 0
  useEffect(() => setTrouble(count), [count])
  return null
}
