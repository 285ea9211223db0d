import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { loadRecording } from '../../../../test/support/recording.ts'
import { startBeaconServer } from '../../../l1/testUtils/beaconServer.ts'
import { fromHex, type Hex, normalizeHex, quantityToNumber } from '../../../lib/hex.ts'
import { listen } from '../../../lib/testUtils/listen.ts'
import { rollupConfigToJson } from '../../../rollup/protocol/index.ts'
import { type EndedCommand, runCommand } from '../../testUtils/runCommand.ts'
import { createDeviumCommand } from '../deviumCommand.ts'

const SCRIPT = fileURLToPath(new URL('../../../../bin/devium.mjs', import.meta.url))
const recording = loadRecording('granite-span-zlib-blobs')
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-decode-'))
  writeFileSync(join(folder, 'rollup.json'), JSON.stringify(rollupConfigToJson(recording.config)))
})
afterAll(() => rmSync(folder, { recursive: true }))

const decode = (args: string[]) => runCommand(createDeviumCommand, ['decode', ...args])

/** Runs the command in a separate process with this standard input. */
function decodePiped(args: string[], input: Uint8Array | string): Promise<EndedCommand> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [SCRIPT, 'decode', ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
    })
    child.stdin?.end(input)
  })
}

const withBlob = recording.l1.find(({ blobs }) => blobs !== undefined && blobs.length > 0)
const blob = withBlob?.blobs?.[0] ?? '0x'
const rollup = () => ['--rollup.config', join(folder, 'rollup.json')]

describe('devium decode', () => {
  it.each<[string, () => Uint8Array | string]>([
    ['bytes', () => fromHex(blob)],
    ['hex', () => `${blob}\n`],
    ['JSON', () => JSON.stringify({ data: [blob] })],
  ])('reads %s from a pipe', async (_name, input) => {
    const { code, stdout, stderr } = await decodePiped([...rollup(), '--compact'], input())
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.trimEnd()).not.toContain('\n')
    expect(JSON.parse(stdout)).toMatchObject({
      inputs: [{ kind: 'blob', bytes: 131_072 }],
      channels: [{ compression: 'zlib', isComplete: true, batches: [{ type: 'span' }] }],
      faults: 0,
    })
  })

  it('joins files', async () => {
    writeFileSync(join(folder, 'a.bin'), fromHex('0102030405060708090a0b0c0d0e0f10000000000002686500'))
    const { stdout, code } = await decode([join(folder, 'a.bin'), '0x0102030405060708090a0b0c0d0e0f10000100000001ff01'])
    expect(JSON.parse(stdout)).toMatchObject({ channels: [{ frames: [0, 1], isComplete: true, fault: { byte: 0 } }] })
    expect(code).toBe(2)
  })

  it('names the position of a fault on stderr and exits with 2', async () => {
    const { code, stdout, stderr } = await decodePiped([], '0x00aabb')
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({ faults: 1, inputs: [{ fault: { byte: 1, in: 'input' } }] })
    const line =
      'devium: stdin: byte 1 of the input: frames: a frame has at least 23 bytes, 2 are left (derivation ignores every'
    expect(stderr).toContain(line)
    expect(stderr.trimEnd()).not.toContain('\n')
  })

  it.each<[string, string[], string]>([
    ['a file that is not there', ['/none'], 'cannot read /none'],
    ['a hash without L1', [`0x${'12'.repeat(32)}`], 'requires --l1'],
    ['an address that is none', [`0x${'12'.repeat(32)}`, '--l1', 'x'], '--l1 must be an http:// or https:// address'],
    ['bad hex', ['0x123'], 'odd number of hex digits'],
    ['an unknown kind', ['--as', 'frmae', '-'], 'Allowed choices are transaction, data, blob, frame, channel, batch.'],
    ['an unknown network', ['0x00', '--network', 'op-mainet'], 'the nearest known are op-mainnet'],
    ['a rollup.json that is not there', ['0x00', '--rollup.config', '/none'], '--rollup.config /none'],
    ['no input', [], 'stdin is empty'],
    ['an L1 that does not answer', [`0x${'12'.repeat(32)}`, '--l1', 'http://127.0.0.1:1'], 'cannot reach L1 (--l1)'],
  ])('exits with 1 and one line for %s', async (_name, args, message) => {
    const { code, stdout, stderr } = args.length === 0 ? await decodePiped(args, '') : await decode(args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr.trimEnd()).not.toContain('\n')
  })

  it('shows examples in its help', async () => {
    const { stdout } = await decode(['--help'])
    expect(stdout).toContain('Examples:')
    expect(stdout).toContain('Exit code: 0')
  })
})

describe('devium decode <hash> --l1', () => {
  it('reads a transaction and its blobs', async () => {
    const transaction = withBlob?.transactions.find(({ blobVersionedHashes }) => blobVersionedHashes !== undefined)
    const hash = String(transaction?.hash)
    const l1 = createServer(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      const { id, method, params } = JSON.parse(body)
      const block = { ...withBlob, transactions: [], receipts: undefined, blobs: undefined }
      const result = method === 'eth_getBlockByHash' ? block : params[0] === hash ? transaction : null
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    const { url, close } = await listen(l1)
    onTestFinished(close)
    const beacon = await startBeaconServer()
    onTestFinished(beacon.stop)
    beacon.genesisTime = quantityToNumber(withBlob?.timestamp) - 24
    beacon.slots.set(2, [
      { blob: fromHex(blob), hash: firstHash(transaction), commitment: new Uint8Array(48), proof: new Uint8Array(48) },
    ])

    const both = await decode([hash, '--l1', url, '--l1.beacon', beacon.url, ...rollup(), '--no-transactions'])
    expect(both).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(both.stdout)).toMatchObject({
      inputs: [
        { source: hash, transaction: { hash, type: 3 } },
        { kind: 'blob', frames: [{ number: 0 }] },
      ],
      channels: [{ isComplete: true, fault: null }],
    })
    const alone = await decode([hash, '--l1', url])
    expect(alone.stderr).toContain('its frames are in 1 blob')
    const unknown = await decode([`0x${'12'.repeat(32)}`, '--l1', url])
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('does not have transaction 0x1212') })
    beacon.slots.clear()
    const missing = await decode([hash, '--l1', url, '--l1.beacon', beacon.url])
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/^devium: .*blobs? .*\n$/) })
  })
})

function firstHash(transaction: { [key: string]: unknown } | undefined): Hex {
  const hashes = transaction?.blobVersionedHashes
  const first: unknown = Array.isArray(hashes) ? hashes[0] : undefined
  return normalizeHex(first, 32, 'recorded blob hash')
}
