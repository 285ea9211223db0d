import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { isAlive } from '../../../test/support/processes.ts'
import { ManualClock, systemClock } from '../clock.ts'
import { fromHex, type Hex, toHex } from '../hex.ts'
import { createLogger, silentLogger } from '../logger.ts'
import { nextTurn } from '../nextTurn.ts'
import { startWorkProcess } from '../workProcess/workProcess.ts'
import { KZG_BLOB_BYTES, versionedHashOf } from './kzg.ts'
import { createKzg, type KzgOptions } from './kzgProcess.ts'
import type { KzgAnswer, KzgTask } from './kzgTask.ts'

const FAULTY = new URL('./testUtils/faultyKzg.ts', import.meta.url)
const OWN = new URL('./kzgMain.ts', import.meta.url)
const RECORDING = new URL('../../../test/vectors/data/op-node-granite-span-zlib-blobs.json.gz', import.meta.url)

type OnAnswer = (answer: KzgAnswer, bytes: Uint8Array) => void
const start = (file: URL) => (onAnswer: OnAnswer) => startWorkProcess<KzgTask, KzgAnswer>(file, onAnswer)

const lasting = createKzg({ clock: systemClock, logger: silentLogger })
afterAll(() => lasting.close())

function startKzg(options: KzgOptions = {}, clock = systemClock) {
  const kzg = createKzg({ clock, logger: silentLogger }, options)
  onTestFinished(kzg.close)
  return kzg
}

/** Blobs that op-batcher posted, with the versioned hashes that L1 accepted. */
function recordedBlobs(): { blobs: Uint8Array[]; hashes: Hex[] } {
  const recording = JSON.parse(gunzipSync(readFileSync(RECORDING)).toString())
  const blocks: { blobs?: Hex[]; transactions: { blobVersionedHashes?: Hex[] }[] }[] = recording.l1
  return {
    blobs: blocks.flatMap((block) => (block.blobs ?? []).map((blob) => fromHex(blob))),
    hashes: blocks.flatMap((block) => block.transactions.flatMap((item) => item.blobVersionedHashes ?? [])),
  }
}

/** A blob that carries an order to the faulty process. */
function order(text: string): Uint8Array {
  const blob = new Uint8Array(KZG_BLOB_BYTES)
  blob.set(Buffer.from(text), 1)
  return blob
}

describe('KZG in another process', () => {
  const { blobs, hashes } = recordedBlobs()

  it('computes the versioned hashes of recorded blobs as on L1', async () => {
    const commitments = await lasting.commitments(blobs)
    expect(hashes.length).toBe(5)
    expect(commitments.map(versionedHashOf)).toEqual(hashes)
  })

  it('creates proofs that are valid for their blobs only', async () => {
    const commitments = await lasting.commitments(blobs)
    const proofs = await lasting.blobProofs(blobs, commitments)
    expect(await lasting.verifyBlobProofs(blobs, commitments, proofs)).toBe(true)
    expect(await lasting.verifyBlobProofs(blobs, commitments, proofs.toReversed())).toBe(false)
    const changed = Uint8Array.from(blobs[4] ?? [])
    changed[100_000] = 1
    expect(await lasting.verifyBlobProofs([...blobs.slice(0, 4), changed], commitments, proofs)).toBe(false)
    const noPoint = new Uint8Array(48).fill(0xff)
    expect(await lasting.verifyBlobProofs(blobs.slice(0, 1), [noPoint], proofs.slice(0, 1))).toBe(false)
  })

  it('creates 128 cell proofs for each blob', async () => {
    const two = blobs.slice(0, 2)
    const [commitments, cellProofs] = await Promise.all([lasting.commitments(two), lasting.cellProofs(two)])
    const { DasContextJs } = createRequire(import.meta.url)('@crate-crypto/node-eth-kzg')
    const library = DasContextJs.create({ usePrecomp: false })
    const indices = Array.from({ length: 128 }, (_, index) => index)
    for (const [index, blob] of two.entries()) {
      const commitment = Array.from(indices, () => commitments[index])
      const holds = library.verifyCellKzgProofBatch(commitment, indices, library.computeCells(blob), cellProofs[index])
      expect(holds).toBe(true)
    }
  })

  it('handles an empty blob', async () => {
    const infinity: Hex = `0xc0${'00'.repeat(47)}`
    const empty = [new Uint8Array(KZG_BLOB_BYTES)]
    const commitments = await lasting.commitments(empty)
    expect(commitments.map(toHex)).toEqual([infinity])
    expect((await lasting.blobProofs(empty, commitments)).map(toHex)).toEqual([infinity])
    expect((await lasting.cellProofs(empty)).map((proofs) => proofs.map(toHex))).toEqual([Array(128).fill(infinity)])
    expect(await lasting.commitments([])).toEqual([])
    expect(await lasting.verifyBlobProofs([], [], [])).toBe(true)
  })

  it('describes invalid input', async () => {
    const bad = new Uint8Array(KZG_BLOB_BYTES).fill(0xff)
    const [blob] = blobs
    await expect(lasting.commitments([...blobs, bad])).rejects.toMatchObject({
      code: 'kzg-bad-input',
      message: expect.stringMatching(/\bcommitments\b.*\bblob 5\b.*\belement 0\b/),
    })
    if (blob === undefined) throw new Error('no recorded blob')
    await expect(lasting.blobProofs([blob], [])).rejects.toMatchObject({ code: 'kzg-bad-input' })
    await expect(lasting.blobProofs([blob], [new Uint8Array(47)])).rejects.toMatchObject({ code: 'kzg-bad-input' })
    const noPoint = new Uint8Array(48).fill(0xff)
    await expect(lasting.blobProofs([blob], [noPoint])).rejects.toMatchObject({ code: 'kzg-bad-input' })
    expect(await lasting.verifyBlobProofs([bad], [noPoint], [noPoint])).toBe(false)
  })
})

describe('stopping the program', () => {
  it('cancels the work, starts no process, and logs no failure of the ended process', async () => {
    const stop = new AbortController()
    const lines: string[] = []
    const logger = createLogger({
      level: 'debug',
      format: 'text',
      color: false,
      write: (line) => void lines.push(line),
    })
    let starts = 0
    const startChild = (onAnswer: OnAnswer) => {
      starts += 1
      return start(FAULTY)(onAnswer)
    }
    const kzg = createKzg({ clock: systemClock, logger, signal: stop.signal }, { startChild })
    onTestFinished(kzg.close)
    await expect(kzg.commitments([order('tell')])).rejects.toThrow('pid')
    const hanging = kzg.commitments([order('hang')])
    stop.abort()
    await expect(hanging).rejects.toMatchObject({ code: 'kzg-process-failed' })
    await expect(kzg.commitments([order('tell')])).rejects.toMatchObject({ code: 'kzg-process-failed' })
    kzg.start()
    await kzg.close()
    expect(starts).toBe(1)
    expect(lines).toEqual([])
  })
})

describe('a failing process', () => {
  it('is replaced once for its current job', async () => {
    let starts = 0
    const kzg = startKzg({ startChild: (onAnswer) => start(starts++ === 0 ? FAULTY : OWN)(onAnswer) })
    const commitments = await Promise.all([kzg.commitments([order('die')]), kzg.commitments([order('other')])])
    expect(commitments.map(([commitment]) => commitment?.length)).toEqual([48, 48])
    expect(starts).toBe(2)
  })

  it.each(['die', 'crash'])('fails the job at the second failure: %s', async (text) => {
    const clock = new ManualClock()
    let starts = 0
    const kzg = startKzg({ startChild: (onAnswer) => start(starts++ < 9 ? FAULTY : OWN)(onAnswer) }, clock)
    await expect(kzg.commitments([order(text)])).rejects.toMatchObject({ code: 'kzg-process-failed' })
    expect(starts).toBe(2)
    // The next process starts only after a pause.
    const failed = expect(kzg.commitments([order('tell')])).rejects.toThrow('pid')
    await nextTurn()
    expect(starts).toBe(2)
    await clock.advance(100)
    expect(starts).toBe(3)
    await failed
  })

  it('fails the job if it cannot start', async () => {
    const kzg = startKzg({ startChild: start(new URL('./absent.ts', import.meta.url)) })
    await expect(kzg.commitments([order('tell')])).rejects.toMatchObject({
      code: 'kzg-process-failed',
      message: expect.stringMatching(/\bcode 1\b/),
    })
  })

  it('is replaced when it hangs', async () => {
    const clock = new ManualClock()
    const kzg = startKzg({ startChild: start(FAULTY) }, clock)
    await expect(kzg.commitments([order('tell')])).rejects.toThrow('pid')
    const hanging = kzg.commitments([order('hang')])
    hanging.catch(() => {})
    // An answer to another job shows that the process is alive.
    await clock.advance(29_000)
    await expect(kzg.commitments([order('tell')])).rejects.toThrow('pid')
    await clock.advance(29_000)
    expect(await Promise.race([hanging.catch(() => 'failed'), nextTurn().then(() => 'waiting')])).toBe('waiting')
    await clock.advance(1_000)
    await expect(hanging).rejects.toMatchObject({
      code: 'kzg-timed-out',
      message: expect.stringMatching(/\b30000 ms\b/),
    })
    await expect(kzg.commitments([order('tell')])).rejects.toThrow('pid')
  })
})

describe('the process', () => {
  const reportOf = async (kzg: ReturnType<typeof startKzg>): Promise<{ pid: number; environment: string[] }> => {
    const error = await kzg.commitments([order('tell')]).catch((thrown: unknown) => String(thrown))
    return JSON.parse(String(error).replace(/^[^{]*/, ''))
  }

  it('gets only the environment that Node needs, and ends when closed', async () => {
    const kzg = startKzg({ startChild: start(FAULTY) })
    const { pid, environment } = await reportOf(kzg)
    expect(environment).not.toContain('HOME')
    const waiting = expect(kzg.commitments([order('hang')])).rejects.toMatchObject({ code: 'kzg-process-failed' })
    await kzg.close()
    await waiting
    expect(isAlive(pid)).toBe(false)
    await expect(kzg.commitments([order('tell')])).rejects.toMatchObject({ code: 'kzg-process-failed' })
  })

  it('keeps the program alive only while a job runs', async () => {
    const program = `
      import { createKzg } from '${new URL('./index.ts', import.meta.url).href}'
      import { systemClock } from '${new URL('../clock.ts', import.meta.url).href}'
      import { silentLogger } from '${new URL('../logger.ts', import.meta.url).href}'
      const kzg = createKzg({ clock: systemClock, logger: silentLogger })
      kzg.commitments([new Uint8Array(${KZG_BLOB_BYTES})]).then(([commitment]) => console.log(commitment.length))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
    expect(stdout).toBe('48\n')
  })
})
