package main

import (
	"context"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web/webtest"
)

// TestNPMPackages: packages of npm that are mounted as node_modules load and work, whatever way they are written.
func TestNPMPackages(t *testing.T) {
	modules := webtest.Tool(t, "node/node_modules")
	eng, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	res, err := eng.Run(context.Background(), engine.Job{
		Language: engine.JavaScript,
		Name:     "main.mjs",
		Mounts:   []limits.Mount{{Host: modules, Guest: "/data/node_modules", Mode: "ro"}},
		Limits:   limits.Limits{Timeout: time.Minute},
		Code: `
import { createRequire } from "node:module";
import Ajv from "ajv";
import express from "express";
import { Hono } from "hono";
import iconv from "iconv-lite";
import * as jose from "jose";
import mime from "mime-types";
import qs from "qs";
import { z } from "zod";

const app = new Hono();
app.get("/hi/:name", (c) => c.text("hi " + c.req.param("name")));
console.log(await (await app.request("/hi/ada")).text(), typeof express().listen, new Ajv().compile({ type: "integer", minimum: 3 })(2));
console.log(iconv.encode("né", "latin1").length, mime.lookup("a.csv"), qs.stringify({ a: { b: [1, 2] } }), z.object({ n: z.number() }).safeParse({ n: "x" }).success);
const key = new TextEncoder().encode("secret secret secret secret secret");
const token = await new jose.SignJWT({ sub: "x" }).setProtectedHeader({ alg: "HS256" }).sign(key);
console.log((await jose.jwtVerify(token, key)).payload.sub, createRequire(import.meta.url)("ms")("2 days"));
const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
console.log(typeof Client);
`,
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "hi ada function false\n2 text/csv a%5Bb%5D%5B0%5D=1&a%5Bb%5D%5B1%5D=2 false\nx 172800000\nfunction\n"
	if res.Status != engine.StatusOK || res.Stdout != want {
		t.Errorf("%s, printed\n%s\nwant\n%s\n%s", res.Status, res.Stdout, want, res.Stderr)
	}
}
