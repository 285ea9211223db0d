import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dumpOf, findNetwork, rollupConfigOf } from '../../../rollup/networks/index.ts'
import { createRollupNodeCommand } from '../../node/rollupNodeCommand.ts'
import { runCommand } from '../../testUtils/runCommand.ts'
import { createDeviumCommand } from '../deviumCommand.ts'
import { formatNetworks, networkRow } from './networksView.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-networks-cli-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const env = () => ({ DEVIUM_DATA_DIR: join(folder, 'data') })
const networks = (...args: string[]) => runCommand(createRollupNodeCommand, args, env())

function rollupFile(name: string, changes: Record<string, unknown>): string {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify({ ...dumpOf(rollupConfigOf('op-sepolia')), ...changes }))
  return path
}

describe('devium--batcher networks', () => {
  it('adds a network, lists it, runs it by name, and removes it', async () => {
    const added = await networks('networks', 'add', rollupFile('mine.json', { l2_chain_id: 4242 }))
    const text = 'Added mine: chain 4242 on L1 11155111. Use it with --network=mine\n'
    expect(added).toEqual({ code: 0, stdout: text, stderr: '' })
    expect((await networks('networks', 'list')).stdout).toMatch(/\nmine +4242 +Sepolia +2 s +karst +added\n/)
    const rows = JSON.parse((await networks('networks', 'list', '--json')).stdout)
    expect(rows).toHaveLength(54)
    expect(rows[0]).toMatchObject({ name: 'mine', chainId: 4242, file: join(folder, 'data/networks/mine.json') })
    const dump = await networks('networks', 'dump-rollup-config', '--network', 'mine')
    expect(JSON.parse(dump.stdout).l2_chain_id).toBe(4242)
    // The network is known, since the error concerns the next file that the program reads.
    const started = await networks('--network=mine', '--l2=http://127.0.0.1:1', '--l2.jwt-secret', join(folder, 'none'))
    expect(started.stderr).not.toContain('unknown network')
    expect((await runCommand(createDeviumCommand, ['networks', 'list'], env())).stdout).toContain('\nmine ')
    expect((await networks('networks', 'remove', 'mine')).stdout).toBe('Removed mine\n')
    expect((await networks('networks', 'remove', 'mine')).stderr).toContain('no network "mine" was added')
  })

  it.each<[string, () => string[], string]>([
    ['a built-in name', () => [rollupFile('a.json', {}), '--name', 'op-mainnet'], 'the name of a built-in network'],
    ['an invalid chain', () => [rollupFile('b.json', { block_time: 0 })], 'block time cannot be 0'],
    ['alt-DA', () => [rollupFile('c.json', { use_plasma: true })], 'alternative data availability layer (alt-DA)'],
    ['no file', () => [join(folder, 'none.json')], 'cannot read'],
    ['no chain id', () => [rollupFile('d.json', {}), '--l1-chain-id', 'x'], '--l1-chain-id: expected a chain id'],
  ])('refuses %s in one line', async (_name, args, message) => {
    const { code, stdout, stderr } = await networks('networks', 'add', ...args())
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr.trimEnd()).not.toContain('\n')
  })

  it('warns of a network that left the superchain registry', async () => {
    const { stdout } = await networks(
      ...['--network=lisk-mainnet', '--l2=http://127.0.0.1:1', '--l2.jwt-secret', join(folder, 'none'), '--rpc.port=0'],
    )
    expect(stdout).toContain('The superchain registry has removed this network')
  })

  it('refuses to run a chain whose batches are not on L1', async () => {
    const jwt = join(folder, 'jwt')
    writeFileSync(jwt, 'ab'.repeat(32))
    const { code, stderr } = await networks(
      '--network=redstone-mainnet',
      '--l2=http://127.0.0.1:1',
      '--l2.jwt-secret',
      jwt,
    )
    expect(code).toBe(1)
    expect(stderr).toMatch(/^devium--batcher: network redstone-mainnet stores its batches in an alternative .*\n$/)
  })
})

describe('formatNetworks', () => {
  it('shows the active fork, the next fork, and unsupported networks', async () => {
    const rows = await Promise.all(
      ['op-mainnet', 'redstone-mainnet'].map(async (name) =>
        networkRow(await findNetwork(name, folder), 1_770_000_000),
      ),
    )
    expect(formatNetworks(rows)).toBe(
      [
        'name              chain id  L1        block time  fork     note',
        'op-mainnet              10  Ethereum  2 s         jovian   karst at 2026-07-08 16:00:01',
        'redstone-mainnet       690  Ethereum  2 s         ecotone  alt-DA: not supported, left the registry',
        'The built-in networks come from the superchain registry of 2026-08-04 (8336d2ae), updated to op-node v1.21.0.',
      ].join('\n'),
    )
  })
})
