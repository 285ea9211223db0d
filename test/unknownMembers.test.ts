import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { unknownChainConfigMembers } from '../src/execution/index.ts'
import { dumpOf, networkNames, rollupConfigOf } from '../src/rollup/networks/index.ts'
import { parseRollupConfig, unknownConfigMembers } from '../src/rollup/protocol/index.ts'

const DATA = new URL('vectors/data/', import.meta.url)
const RECORDINGS = readdirSync(DATA)
  .filter((name) => name.endsWith('.json.gz'))
  .map((name) => ({ name, ...JSON.parse(gunzipSync(readFileSync(new URL(name, DATA))).toString()) }))
const ROLLUP = RECORDINGS.find(({ rollup }) => rollup !== undefined).rollup
const folder = mkdtempSync(join(tmpdir(), 'devium-members-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What a program writes that is given a file with this content. */
function run(program: string, args: readonly string[], content: unknown): Promise<string> {
  const file = join(folder, 'given.json')
  writeFileSync(file, JSON.stringify(content))
  const script = fileURLToPath(new URL(`../bin/${program}.mjs`, import.meta.url))
  const env = { ...process.env, DEVIUM_DATA_DIR: folder }
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args, file], { env }, (_, stdout, stderr) => resolve(stdout + stderr))
  })
}

describe('unknown members of a rollup.json', () => {
  it("do not occur in op-node's files and in the built-in networks", () => {
    const configs = RECORDINGS.flatMap(({ rollup }) => (rollup === undefined ? [] : [rollup]))
    expect(configs.length).toBeGreaterThan(3)
    for (const config of [...configs, ...networkNames().map((name) => dumpOf(rollupConfigOf(name)))]) {
      expect(unknownConfigMembers(config)).toEqual([])
    }
  })

  it('do not occur in a config with alternative data availability', () => {
    const altDa = {
      ...{ da_challenge_contract_address: `0x${'d1'.repeat(20)}`, da_commitment_type: 'KeccakCommitment' },
      ...{ da_challenge_window: 1, da_resolve_window: 2, da_max_input_size: 3 },
    }
    const config = dumpOf(parseRollupConfig({ ...ROLLUP, alt_da: altDa }))
    expect(config.alt_da).toEqual(altDa)
    expect(unknownConfigMembers(config)).toEqual([])
  })

  it('are named by their paths, with the nearest known name', () => {
    const { genesis, ...rest } = ROLLUP
    const config = {
      ...rest,
      genesis: { ...genesis, l2_tmie: 1, system_config: { ...genesis.system_config, gaslimit: 1 } },
      ...{ karst_tmie: 1, Isthmus_Time: 1, jovain_time: 1, something_else_altogether: 1, ignored: null },
      chain_op_config: { eip1559Denominator: 50, eip1559Elastisity: 6 },
    }
    const found = unknownConfigMembers(config)
    expect(Object.fromEntries(found.map(({ member, nearest }) => [member, nearest]))).toEqual({
      karst_tmie: 'karst_time',
      Isthmus_Time: 'isthmus_time',
      jovain_time: 'jovian_time',
      something_else_altogether: undefined,
      'genesis.l2_tmie': 'genesis.l2_time',
      'genesis.system_config.gaslimit': 'genesis.system_config.gasLimit',
      'chain_op_config.eip1559Elastisity': 'chain_op_config.eip1559Elasticity',
    })
  })

  it('cause a warning of the rollup node, and when a network is added', async () => {
    const config = { ...ROLLUP, karst_tmie: 1 }
    const names = /\bkarst_tmie\b.*\bkarst_time\b/.source
    const flags = ['--l2=http://127.0.0.1:1', '--l2.jwt-secret', join(folder, 'jwt.txt'), '--rollup.config']
    expect(await run('devium--batcher', flags, config)).toMatch(new RegExp(`lvl=warn msg="[^"]*${names}[^"]*" file=`))
    expect(await run('devium', ['networks', 'add', '--name=odd'], config)).toMatch(
      new RegExp(`given\\.json: .*${names}`),
    )
  })
})

describe("unknown members of a genesis file's config", () => {
  it('do not occur in files of op-node and this project', () => {
    const files = RECORDINGS.flatMap(({ genesis }) => (genesis === undefined ? [] : [genesis]))
    expect(files.length).toBeGreaterThan(0)
    for (const genesis of files) expect(unknownChainConfigMembers(genesis)).toEqual([])
  })

  it('are named with the nearest known name, in a warning of devium-geth init', async () => {
    const genesis = { config: { chainId: 901, karstTmie: 1, optimism: { eip1559Elasticty: 6 } } }
    expect(unknownChainConfigMembers(genesis)).toEqual([
      { member: 'config.karstTmie', nearest: 'config.karstTime' },
      { member: 'config.optimism.eip1559Elasticty', nearest: 'config.optimism.eip1559Elasticity' },
    ])
    const output = await run('devium-geth', ['init', `--datadir=${folder}`], genesis)
    expect(output).toMatch(/msg="[^"]*\bconfig\.karstTmie\b[^"]*\bconfig\.karstTime\b[^"]*"/)
  })
})
