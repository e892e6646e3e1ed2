/**
 * The files of a drop, folders included, in the order of their paths. A browser reads a folder in parts of about a hundred entries, so
 * that a folder of thousands of files takes many reads.
 */

/** Files that a system writes into folders by itself. */
const isOfSystem = (name: string) => name.startsWith('.') || /^(?:Thumbs\.db|desktop\.ini|__MACOSX)$/i.test(name)

/** Call in the handler of the drop itself: the browser forgets the entries afterwards. */
export async function droppedFiles(transfer: DataTransfer): Promise<File[]> {
  const entries = [...transfer.items].flatMap(item => {
    const entry = item.kind === 'file' ? item.webkitGetAsEntry() : null
    return entry === null ? [] : [entry]
  })
  if (entries.length === 0) return chosenFiles(transfer.files)
  const found = await Promise.all(entries.map(filesBelow))
  return found.flat()
}

/** The files of an <input>, without the files of the system. */
export const chosenFiles = (files: Iterable<File> | ArrayLike<File>): File[] =>
  Array.from(files).filter(file => !isOfSystem(file.name))

async function filesBelow(entry: FileSystemEntry): Promise<File[]> {
  if (isOfSystem(entry.name)) return []
  if (isFile(entry)) return [await new Promise<File>((resolve, reject) => entry.file(resolve, reject))]
  if (!isFolder(entry)) return []
  const files: File[] = []
  for (const each of (await entriesOf(entry)).sort((a, b) => a.name.localeCompare(b.name)))
    files.push(...(await filesBelow(each)))
  return files
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory

async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return all
    all.push(...some)
  }
}
