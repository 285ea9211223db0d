import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { buildGoPeer } from './buildGoPeer.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Builds in a folder of its own, with a `go` that says this and fails; undefined: there is none. */
async function buildWith(output: string | undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'devium-fake-go-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  if (output !== undefined) {
    await writeFile(join(folder, 'go'), `#!/bin/sh\n/bin/cat >&2 <<'END'\n${output}\nEND\nexit 1\n`)
    await chmod(join(folder, 'go'), 0o755)
  }
  vi.stubEnv('PATH', folder)
  vi.stubEnv('TMPDIR', folder)
  return buildGoPeer()
}

const DOWNLOADING = 'go: downloading github.com/libp2p/go-libp2p v0.36.2'

it.each<[output: string | undefined, reason: string]>([
  [undefined, 'go is not installed'],
  [
    `${DOWNLOADING}\nmain.go:4:2: Get "https://proxy/x.zip": dial tcp: lookup proxy: no such host`,
    'modules cannot be fetched: main.go:4:2: Get "https://proxy/x.zip": dial tcp: lookup proxy: no such host',
  ],
  [
    `${DOWNLOADING}\nmain.go:4:2: module lookup disabled by GOPROXY=off`,
    'modules cannot be fetched: main.go:4:2: module lookup disabled by GOPROXY=off',
  ],
  [
    `${DOWNLOADING}\nmain.go:4:2: reading https://proxy/x.zip: 403 Forbidden`,
    'modules cannot be fetched: main.go:4:2: reading https://proxy/x.zip: 403 Forbidden',
  ],
  [
    'go: module cache not found: neither GOMODCACHE nor GOPATH is set',
    'modules cannot be fetched: go: module cache not found: neither GOMODCACHE nor GOPATH is set',
  ],
  [
    "go.mod:3: invalid go version '1.24': must match format 1.23",
    "go is too old: go.mod:3: invalid go version '1.24': must match format 1.23",
  ],
])('the Go peer tests are skipped with the message of Go: %s', async (output, reason) => {
  expect(await buildWith(output)).toEqual({ skip: reason })
})

it('a compile error of the Go peer fails the tests instead of skipping them', async () => {
  await expect(buildWith('./peer.go:3:1: undefined: host')).rejects.toThrow('undefined: host')
})
