import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * The rooms of ARCHITECTURE.md, each with the rooms it may import. Type-only imports count too: a room must not even
 * know the names of what stands below it. `types of` rows are the exceptions, where only `import type` is allowed, and
 * single files that hold nothing but names and schemas.
 */
const ROOMS: Record<string, { imports: string[]; typesOf?: string[] }> = {
  'src/lib': { imports: [] },
  'src/jsonRpc': { imports: ['src/lib'] },
  'src/rollup/protocol': { imports: ['src/lib'] },
  'src/rollup/networks': { imports: ['src/lib', 'src/rollup/protocol'] },
  'src/l1': { imports: ['src/lib', 'src/jsonRpc', 'src/rollup/protocol'] },
  'src/p2p': { imports: ['src/lib', 'src/jsonRpc/remoteSigner.ts', 'src/rollup/protocol'] },
  'src/rollup/derive': { imports: ['src/lib', 'src/rollup/protocol'], typesOf: ['src/l1'] },
  'src/rollup/engine': { imports: ['src/lib', 'src/jsonRpc', 'src/rollup/protocol'], typesOf: ['src/rollup/derive'] },
  'src/rollup/sequencer': {
    imports: ['src/lib', 'src/jsonRpc', 'src/rollup/protocol', 'src/rollup/engine', 'src/rollup/derive'],
  },
  'src/rollup/node': {
    imports: [
      'src/lib',
      'src/jsonRpc',
      'src/l1',
      'src/p2p',
      'src/rollup/protocol',
      'src/rollup/networks',
      'src/rollup/derive',
      'src/rollup/engine',
      'src/rollup/sequencer',
    ],
  },
  'src/batcher': { imports: ['src/lib', 'src/jsonRpc', 'src/l1', 'src/rollup/protocol'] },
  'src/execution': { imports: ['src/lib', 'src/jsonRpc', 'src/rollup/protocol'] },
  'src/rpc': {
    imports: [
      'src/lib',
      'src/jsonRpc',
      'src/rollup/protocol',
      'src/p2p/base/healthReport.ts',
      'src/p2p/base/schemas.ts',
      'src/p2p/base/scoreTerms.ts',
    ],
    typesOf: ['src/rollup/node', 'src/p2p'],
  },
  'src/cli': { imports: ['*'] },
  testnet: {
    imports: ['src/lib', 'src/jsonRpc', 'src/rollup/protocol', 'src/rollup/networks', 'src/execution', 'src/cli'],
  },
}

function sourceFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.includes('testUtils'))
    .map((name) => join(folder, name))
}

function roomOf(file: string): string | undefined {
  return Object.keys(ROOMS).find((room) => file.startsWith(`${room}/`))
}

interface Import {
  target: string
  typeOnly: boolean
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const found: Import[] = []
  const pattern =
    /(?:^|\n)\s*(import|export)(\s+type)?\b[^'"`;]*?from\s*['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]\s*\)/g
  for (const match of text.matchAll(pattern)) {
    const path = match[3] ?? match[4]
    if (path === undefined) continue
    found.push({ target: relative(ROOT, resolve(ROOT, dirname(file), path)), typeOnly: match[2] !== undefined })
  }
  return found
}

/** The files in a circle, and those on a way from one circle to another. */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Set(imports.keys())
  const targetsOf = (name: string) => (imports.get(name) ?? []).filter((target) => left.has(target))
  for (let before = -1; left.size !== before; ) {
    before = left.size
    const used = new Set([...left].flatMap(targetsOf))
    for (const name of left) if (!used.has(name) || targetsOf(name).length === 0) left.delete(name)
  }
  return [...left].map((name) => `${name} → ${targetsOf(name).join(', ')}`)
}

describe('import direction', () => {
  const files = ['src', 'testnet'].flatMap(sourceFiles)

  it('covers every room', () => {
    expect(new Set(files.map(roomOf))).toEqual(new Set(Object.keys(ROOMS)))
  })

  it('follows ARCHITECTURE.md', () => {
    const violations: string[] = []
    for (const file of files) {
      const room = roomOf(file)
      if (room === undefined) {
        violations.push(`${file} stands in no room`)
        continue
      }
      const rule = ROOMS[room]
      for (const { target, typeOnly } of importsOf(file)) {
        const other = roomOf(target)
        if (other === undefined || other === room || rule === undefined) continue
        const allowed =
          rule.imports.some((name) => ['*', other, target].includes(name)) ||
          (typeOnly && rule.typesOf?.includes(other))
        if (!allowed) violations.push(`${file} imports ${target}`)
      }
    }
    expect(violations).toEqual([])
  })

  it('the EVM imports nothing of the chain', () => {
    const ofEvm = files.filter((file) => file.startsWith('src/execution/evm/'))
    const targets = ofEvm.flatMap((file) => importsOf(file).map(({ target }) => target))
    expect(targets.filter((target) => target.startsWith('src/execution/chain/'))).toEqual([])
    expect(targets).toContain('src/execution/primitives/block.ts')
  })

  it('has no cycle of files, types included', () => {
    expect(circleIn(new Map(files.map((file) => [file, importsOf(file).map(({ target }) => target)])))).toEqual([])
  })

  it('has no cycle of folders inside the p2p room', () => {
    const room = 'src/p2p'
    const imports = new Map<string, string[]>()
    for (const file of files.filter((name) => name.startsWith(`${room}/`))) {
      const folder = dirname(file)
      const others = importsOf(file).filter(({ target }) => target.startsWith(`${room}/`) && dirname(target) !== folder)
      imports.set(folder, [...(imports.get(folder) ?? []), ...others.map(({ target }) => dirname(target))])
    }
    expect(imports.size).toBeGreaterThan(10)
    expect(circleIn(imports)).toEqual([])
  })

  const workProcesses = files.filter((name) => name.endsWith('Main.ts'))

  it('covers the programs of the work processes', () => {
    expect(workProcesses.map((file) => basename(file)).sort()).toEqual([
      'inspectionMain.ts',
      'kzgMain.ts',
      'rpcMain.ts',
    ])
  })

  it.each(workProcesses)('%s does not load a metrics library', (file) => {
    const reached = new Set([file])
    for (const one of reached) {
      for (const { target, typeOnly } of importsOf(one)) if (!typeOnly) reached.add(target)
    }
    const users = [...reached].filter((one) =>
      /^import \{.*from 'prom-client'/m.test(readFileSync(join(ROOT, one), 'utf8')),
    )
    expect(users).toEqual([])
  })

  it.each(['viem', '@ethereumjs/'])('the programs do not import %s, which is for tests and the testnet', (library) => {
    const users = files.filter(
      (file) => file.startsWith('src/') && readFileSync(join(ROOT, file), 'utf8').includes(`from '${library}`),
    )
    expect(users).toEqual([])
  })
})
