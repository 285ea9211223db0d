import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readUpgradeBundleFile } from '../../src/cli/node/lagoonFiles.ts'
import { createDeviumCommand } from '../../src/cli/operator/deviumCommand.ts'
import { runCommand } from '../../src/cli/testUtils/runCommand.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { concatBytes } from '../../src/lib/bytes.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../src/lib/hex.ts'
import { predeployAddress } from '../../testnet/genesis/predeploys.ts'
import { heads } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// A chain that activates Karst and Lagoon while it runs, with the published upgrade bundle, which is not part of the project.

const PUBLISHED = new URL('../../../shared/vectors/lagoon-nut-bundle.json.gz', import.meta.url)
/** L2 blocks are one second apart, so these are also the numbers of the activation blocks. */
const KARST = 4
const LAGOON = 8
const GAS_LIMIT = 60_000_000
/** The gas of the bundle, and of two deposits for a larger dependency set. */
const UPGRADE_GAS = 64_827_394 + 150_000
/** Arachnid's proxy, which ConditionalDeployer uses. */
const CREATE2_FACTORY = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
/** ERC-1967: the slot of a proxy's implementation. */
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'

/**
 * Keyed by the proxy's low byte. The contracts of interop and of a gas token are only deployed, because this chain uses neither.
 */
const POINTED = [
  ...['7 L2CrossDomainMessenger', 'f GasPriceOracle', '10 L2StandardBridge', '11 SequencerFeeVault'],
  ...['12 OptimismMintableERC20Factory', '14 L2ERC721Bridge', '15 L1Block', '16 L2ToL1MessagePasser'],
  ...['17 OptimismMintableERC721Factory', '18 L2ProxyAdmin', '19 BaseFeeVault, L1FeeVault'],
  ...['1a BaseFeeVault, L1FeeVault', '1b OperatorFeeVault', '20 SchemaRegistry', '21 EAS'],
  ...['2c ConditionalDeployer', '2d L2DevFeatureFlags'],
]

interface Published {
  transactions: { intent: string; data: Hex }[]
}

interface Block {
  hash: string
  gasLimit: string
  transactions: { type: string; sourceHash?: string }[]
}

/** The address at which `deploy(bytes32 salt, bytes code)` creates its contract. */
function deployedAt(data: Hex): Hex {
  const call = fromHex(data).subarray(4)
  const length = Buffer.from(call).readUInt32BE(92)
  const hash = keccak256(call.subarray(96, 96 + length))
  return toHex(
    keccak256(concatBytes(Uint8Array.of(0xff), fromHex(CREATE2_FACTORY), call.subarray(0, 32), hash)).subarray(12),
  )
}

describe.runIf(existsSync(PUBLISHED))('a testnet that activates Lagoon (skipped without ../shared/vectors)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'devium-lagoon-'))
  const bundlePath = join(folder, 'lagoon.json')
  const text = existsSync(PUBLISHED) ? gunzipSync(readFileSync(PUBLISHED)).toString() : '{"transactions":[]}'
  const { transactions }: Published = JSON.parse(text)
  writeFileSync(bundlePath, text)
  afterAll(() => rmSync(folder, { recursive: true }))

  describe.each(['calldata', 'blobs'])('with its batches in %s', (da) => {
    const { connectTo, close } = createRpcClients()
    let testnet: RunningTestnet
    let eth: RpcClient[]

    beforeAll(async () => {
      const plan = `jovian:2,karst:${KARST},lagoon:${LAGOON}`
      testnet = await startTestnet({ args: ['--da', da, '--fork-at', plan, '--upgrade-bundle', bundlePath] })
      eth = testnet.nodes.map(({ ethRpc }) => connectTo(ethRpc))
    })
    afterAll(async () => {
      await close()
      await testnet?.stop()
    })

    const block = async (rpc: RpcClient | undefined, number: number): Promise<Block> =>
      (await rpc?.request('eth_getBlockByNumber', [toQuantity(number), true])) as Block
    const safe = async ({ rollupRpc }: { rollupRpc: string }) => (await heads(connectTo(rollupRpc))).safe_l2.number

    it('has one activation block on all nodes, derived from L1, and its deposits succeed', async () => {
      const lowest = async () => Math.min(...(await Promise.all(testnet.nodes.map(safe))))
      await expect.poll(lowest).toBeGreaterThan(LAGOON + 2)
      for (let number = 0; number <= LAGOON + 2; number++) {
        const [first, ...others] = await Promise.all(eth.map((rpc) => block(rpc, number)))
        for (const other of others) expect(other).toEqual(first)
      }
      const bundle = readUpgradeBundleFile(bundlePath)
      const activation = await block(eth[1], LAGOON)
      expect(activation.transactions.map(({ type }) => type)).toEqual(Array(1 + 29).fill('0x7e'))
      expect(activation.transactions.slice(1).map(({ sourceHash }) => sourceHash)).toEqual(
        bundle.deposits.map(({ sourceHash }) => sourceHash),
      )
      const receipts = (await eth[2]?.request('eth_getBlockReceipts', [toQuantity(LAGOON)])) as { status: string }[]
      expect(receipts.map(({ status }) => status)).toEqual(Array(1 + 29).fill('0x1'))
      const limits = await Promise.all([LAGOON - 1, LAGOON, LAGOON + 1].map((at) => block(eth[0], at)))
      expect(limits.map(({ gasLimit }) => Number(gasLimit))).toEqual([GAS_LIMIT, GAS_LIMIT + UPGRADE_GAS, GAS_LIMIT])
    })

    it('has every contract of the bundle at its address, and updated proxies', async () => {
      // Two fee vaults have the same code, and therefore the same address.
      const deployed = new Map<Hex, string>()
      for (const { intent, data } of transactions.slice(0, -1)) {
        const [address, name] = [deployedAt(data), intent.replace(/^Deploy | Implementation$/g, '')]
        deployed.set(address, [deployed.get(address) ?? [], name].flat().join(', '))
      }
      expect(deployed.size).toBe(27)
      for (const [address, name] of deployed) {
        const code = String(await eth[1]?.request('eth_getCode', [address, toQuantity(LAGOON)]))
        expect(code.length, name).toBeGreaterThan(100)
      }
      // The last deposit calls the manager, which updates the proxies.
      expect([...deployed].at(-1)).toEqual([`0x${transactions.at(-1)?.data.slice(-40)}`, 'L2ContractsManager'])
      const pointsTo = async (low: number, at: number) => {
        const parameters = [predeployAddress(low), IMPLEMENTATION_SLOT, toQuantity(at)]
        return `0x${String(await eth[1]?.request('eth_getStorageAt', parameters)).slice(-40)}` as Hex
      }
      const pointed: string[] = []
      for (let low = 0; low <= 0x30; low++) {
        const [before, after] = await Promise.all([pointsTo(low, LAGOON - 1), pointsTo(low, LAGOON)])
        const name = deployed.get(after)
        if (name !== undefined) pointed.push(`${low.toString(16)} ${name}`)
        else expect(after).toBe(before)
      }
      expect(pointed).toEqual(POINTED)
    })

    it('exports its bundle, without the block number as argument', async () => {
      const out = join(folder, `${da}.json`)
      const rpc = testnet.nodes[0]?.ethRpc ?? ''
      const args = ['bundle', 'from-block', '--rpc', rpc, '--out', out]
      expect(await runCommand(createDeviumCommand, args, {})).toMatchObject({ code: 0 })
      expect(readUpgradeBundleFile(out)).toEqual(readUpgradeBundleFile(bundlePath))
    })

    it('logs no warnings', () => {
      expect(testnet.complaints().slice(0, 10)).toEqual([])
    })
  })

  it('loses nothing if a submitter and verifiers are killed around the activation', async () => {
    const { connectTo, close } = createRpcClients()
    const dir = join(folder, 'killed')
    const later = 3 * LAGOON
    const args = ['--fail-fast=false', '--fork-at', `jovian:2,karst:${KARST},lagoon:${later}`]
    const testnet = await startTestnet({ dir, args: [...args, '--upgrade-bundle', bundlePath] })
    try {
      const [sequencer, ...verifiers] = testnet.nodes
      if (sequencer === undefined) throw new Error('the testnet has no nodes')
      const headsOf = ({ rollupRpc }: { rollupRpc: string }) => heads(connectTo(rollupRpc))
      const unsafe = async () => (await headsOf(sequencer)).unsafe_l2.number
      await expect.poll(unsafe).toBeGreaterThanOrEqual(later - 4)
      // The blocks before the activation are not posted or derived yet.
      await testnet.kill('batcher', 'devium-batch-submitter')
      await testnet.kill('verifier1-node', 'devium--batcher', `${dir}/verifier1/`)
      await testnet.kill('verifier2-geth', '--authrpc.port', `${dir}/verifier2/`)
      await expect.poll(unsafe).toBeGreaterThan(later)
      for (const program of ['batcher', 'verifier1-node', 'verifier2-geth']) testnet.startAgain(program)
      const target = await unsafe()
      const hashOf = async ({ ethRpc }: { ethRpc: string }, number: number) =>
        ((await connectTo(ethRpc).request('eth_getBlockByNumber', [toQuantity(number), false])) as Block).hash
      const made: string[] = []
      for (let number = later - 3; number <= target; number++) made.push(await hashOf(sequencer, number))
      for (const node of testnet.nodes) {
        const safe = async () => (await headsOf(node)).safe_l2.number
        await expect.poll(safe).toBeGreaterThanOrEqual(target)
      }
      for (const node of [sequencer, ...verifiers]) {
        for (const [index, hash] of made.entries()) expect(await hashOf(node, later - 3 + index)).toBe(hash)
      }
    } finally {
      await close()
      await testnet.stop()
    }
  })
})
