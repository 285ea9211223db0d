import { constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { UsageError } from '../../src/lib/errors.ts'
import { makeDirectory } from '../../src/lib/makeDirectory.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { type TestnetLayout, testnetLayout } from './layout.ts'
import { chainEntries, readManifest } from './manifest.ts'

/** Valid as a directory name on all systems. */
const NAME = /^[\w-]{1,64}$/
/** A copy that is being made, or that a restore moves into place. It is not valid as a snapshot's name. */
const PARTIAL = '.partial'
/** The data that a restore replaces. It exists until the restore has ended. */
const REPLACED = '.replaced'

/** Copies of a testnet's data. All programs must have ended during `take` and before the restore. */
export class Snapshots {
  private readonly layout: TestnetLayout
  private readonly chain: ChainParameters

  constructor({ layout, chain }: { layout: TestnetLayout; chain: ChainParameters }) {
    this.layout = layout
    this.chain = chain
  }

  /** Throws UsageError if the name is invalid or used. */
  checkNew(name: string): void {
    if (!NAME.test(name)) throw new UsageError(`snapshot: expected a name of letters, digits, _ and -; got "${name}"`)
    const dir = this.directory(name)
    if (existsSync(dir)) throw new UsageError(`snapshot: there is a ${name} already: delete ${dir}, or choose another`)
  }

  /** Copies all data. Returns the snapshot's directory. */
  async take(name: string): Promise<string> {
    const partial = this.emptyPartial()
    await this.copy(this.layout, partial)
    renameSync(partial, this.directory(name))
    return this.directory(name)
  }

  /** Seconds since it was taken. Throws UsageError if there is none, or if it is of another chain. */
  ageOf(name: string): number {
    const kept = testnetLayout(this.directory(name))
    if (!NAME.test(name) || !existsSync(kept.manifest)) {
      const names = existsSync(this.layout.snapshots)
        ? readdirSync(this.layout.snapshots).filter((one) => NAME.test(one))
        : []
      const known =
        names.length === 0 ? 'there is none: take one by snapshot NAME' : `expected one of ${names.join(', ')}`
      throw new UsageError(`restore: there is no snapshot "${name}": ${known}`)
    }
    const manifest = readManifest(kept)
    if (!isDeepStrictEqual(manifest?.chain, this.chain)) {
      throw new UsageError(
        `restore: ${name} is of another chain, or of other fork times: start a testnet with --dir and a copy of ${kept.dir}`,
      )
    }
    return Math.max(0, Math.round((Date.now() - statSync(kept.dir).mtimeMs) / 1000))
  }

  /** Copies a snapshot beside the data. Returns a function that replaces all data by the copy at once. */
  async prepare(name: string): Promise<() => void> {
    const partial = this.emptyPartial()
    await this.copy(testnetLayout(this.directory(name)), partial)
    return () => replaceData(this.layout)
  }

  private async copy(from: TestnetLayout, to: string): Promise<void> {
    for (const entry of chainEntries(from)) {
      await cp(join(from.dir, entry), join(to, entry), {
        recursive: true,
        // Copy-on-write, if the file system supports it.
        mode: constants.COPYFILE_FICLONE,
        filter: (path) => path !== from.l1Cache,
      })
    }
  }

  private emptyPartial(): string {
    if (existsSync(this.directory(REPLACED)))
      throw new UsageError('a restore was interrupted: stop the testnet, and its next start finishes the restore')
    const partial = this.directory(PARTIAL)
    rmSync(partial, { recursive: true, force: true })
    makeDirectory(this.layout.snapshots)
    mkdirSync(partial, { mode: 0o700 })
    return partial
  }

  private directory(name: string): string {
    return join(this.layout.snapshots, name)
  }
}

/** Finishes a restore that was interrupted, if there is one. */
export function finishRestore(layout: TestnetLayout): void {
  if (existsSync(join(layout.snapshots, REPLACED))) replaceData(layout)
}

/**
 * Replaces all data by the copy in `.partial`, and deletes the old data at the end. Manifests move last, so they tell a call after
 * an interruption where to continue.
 */
function replaceData(layout: TestnetLayout): void {
  const copy = testnetLayout(join(layout.snapshots, PARTIAL))
  const replaced = testnetLayout(join(layout.snapshots, REPLACED))
  makeDirectory(replaced.dir)
  // A node added after the snapshot has no data in it, and starts from genesis.
  if (existsSync(copy.manifest) && existsSync(layout.manifest)) moveData(layout, replaced)
  moveData(copy, layout)
  for (const { dir } of [replaced, copy]) rmSync(dir, { recursive: true })
}

function moveData(from: TestnetLayout, to: TestnetLayout): void {
  for (const entry of chainEntries(from)) {
    if (existsSync(join(from.dir, entry))) renameSync(join(from.dir, entry), join(to.dir, entry))
  }
}
