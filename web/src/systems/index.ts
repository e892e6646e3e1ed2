/**
 * The pages of the systems. The shell shows a page only if the server runs its system (`systems` of GET /api/v1/session); the page itself
 * is a chunk of its own.
 */
import { CalendarRange, FileText, FolderSearch, Images, type LucideIcon, Tags } from 'lucide-react'
import type { ComponentType } from 'preact'
import { lazy } from 'react'
import { defineMessages } from '../i18n/messages.ts'

export const systemMessages = defineMessages(
  {
    '/classificador/': 'Classificador',
    '/cotacoes/': 'Cotações',
    '/planejador/': 'Planejador',
    '/snaps/': 'Snaps',
    '/documentos/': 'Documentos',
  },
  {
    '/classificador/': 'Classifier',
    '/cotacoes/': 'Quotes',
    '/planejador/': 'Planner',
    '/snaps/': 'Snaps',
    '/documentos/': 'Documents',
  },
)

export type SystemPath = keyof (typeof systemMessages)['en']

interface SystemPage {
  icon: LucideIcon
  /** Gets every address below its path; the system has its own routes inside. */
  Page: ComponentType
}

type Load = () => Promise<{ default: ComponentType }>
const page = (load: Load): ComponentType => lazy(load) as unknown as ComponentType

export const systemPages: Readonly<Record<SystemPath, SystemPage>> = {
  '/classificador/': { icon: FolderSearch, Page: page(() => import('./classifier/classifier-page.tsx')) },
  '/cotacoes/': { icon: Tags, Page: page(() => import('./quotes/quotes-page.tsx')) },
  '/planejador/': { icon: CalendarRange, Page: page(() => import('./planner/planner-page.tsx')) },
  '/snaps/': { icon: Images, Page: page(() => import('./snaps/snaps-page.tsx')) },
  '/documentos/': { icon: FileText, Page: page(() => import('./documents/documents-page.tsx')) },
}

export const isSystemPath = (path: string | null): path is SystemPath => path !== null && path in systemPages
