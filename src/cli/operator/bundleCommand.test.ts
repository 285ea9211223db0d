import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadRecordedRpc } from '../../execution/testUtils/recordedRpc.ts'
import { toQuantity } from '../../lib/hex.ts'
import { BUNDLE_PINS, upgradeBundleToJson, upgradeDepositsOf } from '../../rollup/protocol/index.ts'
import { runCommand } from '../testUtils/runCommand.ts'
import { createDeviumCommand } from './deviumCommand.ts'
import { serveRpc } from './doctor/testUtils/servers.ts'

/** Number of the recorded block that activates Karst. */
const ACTIVATION = 15
const KARST = 'the upgrade bundle of karst, 31 transactions, 55370657 gas'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-bundle-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const bundle = (...args: string[]) => runCommand(createDeviumCommand, ['bundle', ...args])

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const karstFile = () =>
  file('karst.json', upgradeBundleToJson({ pin: BUNDLE_PINS.karst, deposits: upgradeDepositsOf('karst') }))

describe('devium bundle check', () => {
  it('names the fork of the transactions in a file', async () => {
    const { code, stdout } = await bundle('check', karstFile())
    expect(code).toBe(0)
    expect(stdout).toMatch(
      new RegExp(`karst.json: ${KARST}, the published transactions in another form \\(sha256 \\w{64}\\)\n$`),
    )
  })

  it.each<[string, () => string, string]>([
    ['is not there', () => join(folder, 'none.json'), 'ENOENT'],
    ['is no JSON', () => file('text.json', 'hello'), 'JSON'],
    [
      'holds other transactions',
      () => file('other.json', { transactions: [] }),
      'its 0 transactions do not match the bundle of',
    ],
  ])('refuses a file that %s, and names it', async (_, path, problem) => {
    const { code, stderr } = await bundle('check', path())
    expect(code).toBe(1)
    expect(stderr).toContain('.json: ')
    expect(stderr).toContain(problem)
    expect(stderr.trim()).not.toContain('\n')
  })
})

describe('devium bundle from-block', () => {
  const recording = loadRecordedRpc('2026-holocene-to-karst-blobs')
  /** Serves the recorded chain, whose activation block has the hash `known`. */
  const serve = (known?: string) =>
    serveRpc({
      eth_getBlockByNumber: ([number]: unknown[]) => recording.blocks[Number(number)] ?? null,
      eth_getTransactionByHash: ([hash]: unknown[]) =>
        hash === known ? { blockNumber: toQuantity(ACTIVATION) } : null,
    })

  it('prints the bundle in a form that a node accepts, or writes it to a file', async () => {
    const rpc = await serve()
    const printed = await bundle('from-block', '--rpc', rpc, '--block', `${ACTIVATION}`)
    expect(JSON.parse(printed.stdout)).toEqual(JSON.parse(readFileSync(karstFile(), 'utf8')))
    const out = join(folder, 'out.json')
    const written = await bundle('from-block', '--rpc', rpc, '--block', `${ACTIVATION}`, '--out', out)
    expect(written).toEqual({ code: 0, stdout: `${out}: ${KARST}\n`, stderr: '' })
    expect((await bundle('check', out)).code).toBe(0)
  })

  it('finds the block by a transaction hash that is the same on every chain', async () => {
    const printed = await bundle('from-block', '--rpc', await serve(BUNDLE_PINS.lagoon.lastHash))
    expect(JSON.parse(printed.stdout)).toEqual(JSON.parse(readFileSync(karstFile(), 'utf8')))
  })

  it.each<[string, (rpc: string) => string[], string]>([
    ['a chain that has not come to Lagoon', (rpc) => ['--rpc', rpc], 'set --block to the activation block'],
    ['a block without one', (rpc) => ['--rpc', rpc, '--block', '16'], 'block 16 (0x'],
    ['a block that is not there', (rpc) => ['--rpc', rpc, '--block', '999'], 'has no block 999'],
    ['no number', (rpc) => ['--rpc', rpc, '--block', 'latest'], '--block must be a block number, got latest'],
    ['no address', () => ['--rpc', 'localhost', '--block', '1'], '--rpc must be an http:// or https:// address'],
    ['an address without a server', () => ['--rpc', 'http://127.0.0.1:1', '--block', '1'], '--rpc: '],
    [
      'a folder that is not there',
      (rpc) => ['--rpc', rpc, '--block', '15', '--out', '/nowhere/x'],
      '--out /nowhere/x: ',
    ],
  ])('refuses %s in one line', async (_, args, problem) => {
    const { code, stderr } = await bundle('from-block', ...args(await serve()))
    expect(code).toBe(1)
    expect(stderr).toContain(problem)
    expect(stderr.trim()).not.toContain('\n')
  })
})
