/**
 * Checks the name and the path of a batch for people, if they differ from the batch's name and number. A notice shows the name
 * and links to the path.
 */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { type Refuse, refuseUnknown } from '../../errors/invalid-option.ts'

/** The name of a batch for people, and the page of an application about the batch. */
export interface BatchAbout {
  /** For example `execution 7`, in both languages. */
  label: LocalizedText
  /** Path of the page about the batch, below the address of Retoma: `/execucoes/7/status-detalhado`. */
  path: string
}

const longest = 200

export function checkAbout(about: BatchAbout, refuse: Refuse): BatchAbout {
  if (about === null || typeof about !== 'object') refuse('about takes { label, path }', 'about recebe { label, path }')
  refuseUnknown(about, ['label', 'path'], refuse, 'about.')
  const isText = (text: unknown) => typeof text === 'string' && text.length > 0 && text.length <= longest
  const { label, path } = about
  if (!isText(label?.en) || !isText(label?.pt))
    refuse('about.label is a text in both languages: { en, pt }', 'about.label é um texto nas duas línguas: { en, pt }')
  if (!isText(path) || !/^\/[^/\\]/.test(path))
    refuse('about.path begins with one slash', 'about.path começa com uma barra')
  return { label: localized(label.en, label.pt), path }
}
