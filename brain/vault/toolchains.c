/* SPDX-License-Identifier: Apache-2.0
 *
 * Toolchains below $HOME. Runs in the vault, when it orders a sandbox; $PATH, $HOME and what
 * is installed there are the user's. Only names of the table are ever granted, never $HOME,
 * and of a toolchain that keeps credentials beside its programs only the directories that
 * programs are in: a file that appears there later is not granted then either. */
#include "brain/vault/toolchains.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define PATH_TEXT_MAX 8192

#define ROOTS_MAX 6
#define MASKS_MAX 6
#define VARS_MAX 2
#define VAR(name, dir) { (name), (dir), (dir) }
#define NO_VARS { { NULL, NULL, NULL } }

/* All paths are relative to $HOME.
 *   bin    a directory of PATH that is this or lies below it means the toolchain;
 *   roots  granted read-only, as far as they exist;
 *   masks  covered in these; "*" is one component;
 *   vars   variables that name a directory, set when another (or it) exists. cargo's own is
 *          not for writing then: without crates in it, one in the sandbox's home is better. */
static const struct toolchain {
	const char *bin;
	const char *roots[ROOTS_MAX];
	const char *masks[MASKS_MAX];
	struct { const char *name, *dir, *when; } vars[VARS_MAX];
} toolchains[] = {
	{ ".cargo/bin", { ".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup" }, { NULL },
	    { VAR("RUSTUP_HOME", ".rustup"), { "CARGO_HOME", ".cargo", ".cargo/registry" } } },
	{ ".pyenv", { ".pyenv" },
	    { ".pyenv/.git", ".pyenv/versions/*/pip.conf", ".pyenv/versions/*/etc/npmrc" },
	    { VAR("PYENV_ROOT", ".pyenv") } },
	{ ".nvm", { ".nvm" }, { ".nvm/.git", ".nvm/versions/*/*/etc/npmrc" },
	    { VAR("NVM_DIR", ".nvm") } },
	{ ".volta", { ".volta/bin", ".volta/tools" },
	    { ".volta/tools/image/*/*/etc/npmrc", ".volta/tools/image/*/*/*/etc/npmrc" },
	    { VAR("VOLTA_HOME", ".volta") } },
	{ ".fnm", { ".fnm" }, { ".fnm/node-versions/*/installation/etc/npmrc" }, NO_VARS },
	{ ".local/share/fnm", { ".local/share/fnm" },
	    { ".local/share/fnm/node-versions/*/installation/etc/npmrc" }, NO_VARS },
	{ ".asdf", { ".asdf" },
	    { ".asdf/.git", ".asdf/plugins/*/.git", ".asdf/installs/*/*/etc/npmrc",
		".asdf/installs/*/*/pip.conf" },
	    { VAR("ASDF_DIR", ".asdf"), VAR("ASDF_DATA_DIR", ".asdf") } },
	{ ".local/share/mise", { ".local/share/mise", ".local/bin/mise" },
	    { ".local/share/mise/plugins/*/.git", ".local/share/mise/installs/*/*/etc/npmrc",
		".local/share/mise/installs/*/*/pip.conf" },
	    { VAR("MISE_DATA_DIR", ".local/share/mise") } },
	{ ".rbenv", { ".rbenv" }, { ".rbenv/.git", ".rbenv/versions/*/etc/gemrc" },
	    { VAR("RBENV_ROOT", ".rbenv") } },
	{ ".nodenv", { ".nodenv" }, { ".nodenv/.git", ".nodenv/versions/*/etc/npmrc" },
	    { VAR("NODENV_ROOT", ".nodenv") } },
	{ ".goenv", { ".goenv" }, { ".goenv/.git" }, { VAR("GOENV_ROOT", ".goenv") } },
	{ ".jenv", { ".jenv" }, { ".jenv/.git" }, NO_VARS },
	{ ".sdkman/candidates", { ".sdkman/candidates" }, { NULL },
	    { VAR("JAVA_HOME", ".sdkman/candidates/java/current") } },
	/* go/bin has programs of GOPATH; where go itself lies in ~/go, more is needed. */
	{ "go/bin", { "go/bin", "go/VERSION", "go/go.env", "go/pkg/tool", "go/pkg/include",
		"go/lib" }, { NULL }, NO_VARS },
	{ "sdk", { "sdk" }, { NULL }, NO_VARS },
	{ ".local/go", { ".local/go" }, { NULL }, { VAR("GOROOT", ".local/go") } },
	{ ".bun", { ".bun/bin", ".bun/install/global" }, { NULL }, { VAR("BUN_INSTALL", ".bun") } },
	{ ".deno", { ".deno/bin" }, { NULL }, NO_VARS },
	{ ".local/share/pnpm", { ".local/share/pnpm" },
	    { ".local/share/pnpm/nodejs/*/etc/npmrc" }, { VAR("PNPM_HOME", ".local/share/pnpm") } },
	{ ".npm-global", { ".npm-global" }, { ".npm-global/etc/npmrc" }, NO_VARS },
	{ ".yarn/bin", { ".yarn/bin" }, { NULL }, NO_VARS },
	{ ".local/bin", { ".local/bin", ".local/lib/node_modules", ".local/share/uv/tools",
		".local/share/uv/python", ".local/share/pipx", ".local/pipx" },
	    { ".local/share/uv/python/*/pip.conf" }, NO_VARS },
	{ ".rye/shims", { ".rye/shims", ".rye/py", ".rye/self", ".rye/tools", ".rye/uv" }, { NULL },
	    { VAR("RYE_HOME", ".rye") } },
	{ ".pixi/bin", { ".pixi/bin", ".pixi/envs" }, { NULL }, NO_VARS },
	{ "miniconda3", { "miniconda3" }, { "miniconda3/.condarc", "miniconda3/pip.conf" },
	    NO_VARS },
	{ "anaconda3", { "anaconda3" }, { "anaconda3/.condarc", "anaconda3/pip.conf" }, NO_VARS },
	{ "miniforge3", { "miniforge3" }, { "miniforge3/.condarc", "miniforge3/pip.conf" },
	    NO_VARS },
	{ ".dotnet", { ".dotnet" }, { ".dotnet/corefx" }, { VAR("DOTNET_ROOT", ".dotnet") } },
	{ ".ghcup", { ".ghcup/bin", ".ghcup/ghc", ".ghcup/env" }, { NULL }, NO_VARS },
	{ ".cabal/bin", { ".cabal/bin", ".cabal/packages" }, { NULL }, NO_VARS },
	{ ".opam", { ".opam" }, { ".opam/repo" }, { VAR("OPAMROOT", ".opam") } },
	{ ".juliaup/bin", { ".juliaup/bin", ".julia/juliaup" }, { NULL }, NO_VARS },
	{ ".gem/ruby", { ".gem/ruby" }, { NULL }, NO_VARS },
	{ ".local/share/gem/ruby", { ".local/share/gem/ruby" }, { NULL }, NO_VARS },
	{ ".composer/vendor", { ".composer/vendor" }, { NULL }, NO_VARS },
	{ ".config/composer/vendor", { ".config/composer/vendor" }, { NULL }, NO_VARS },
	{ ".elan", { ".elan" }, { NULL }, { VAR("ELAN_HOME", ".elan") } },
	{ ".foundry/bin", { ".foundry/bin" }, { NULL }, NO_VARS },
};

/* Files in which programs keep what lets them in; covered at the top of each root as well. */
static const char *const credentials[] = { ".npmrc", ".pypirc", ".netrc", "_netrc", ".yarnrc",
	".yarnrc.yml", ".git-credentials", ".gemrc", ".condarc", "pip.conf", "auth.json",
	"credentials", "credentials.toml", ".credentials" };

struct finder {
	const struct ats_homes *homes;
	const char *home;
	const struct ats_conf_strv *env;
	struct ats_buf *out;
	bool used[ATS_ARRAY_LEN(toolchains)];
	char path[PATH_TEXT_MAX];	/* of the sandbox, so far */
};

static bool
is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* One directory or file, and where it is if it is a link itself. */
static int
grant(const struct finder *f, const char *rel)
{
	char path[ATS_PATH_MAX], real[ATS_PATH_MAX];
	struct stat st;
	int rc;

	if (snprintf(path, sizeof(path), "%s/%s", f->home, rel) >= (int)sizeof(path) ||
	    lstat(path, &st) < 0 || ats_workspace_check_grant(f->homes, path, real, NULL) < 0 ||
	    strchr(real, '\n') != NULL)
		return 0;
	rc = ats_buf_addf(f->out, "ro=%s\n", path);
	if (rc == 0 && S_ISLNK(st.st_mode))
		rc = ats_buf_addf(f->out, "ro=%s\n", real);
	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(credentials) && is_dir(real); i++) {
		if (snprintf(path, sizeof(path), "%s/%s", real, credentials[i]) >=
		    (int)sizeof(path) || lstat(path, &st) < 0)
			continue;
		rc = ats_buf_addf(f->out, "mask=%s/%s/%s\n", f->home, rel, credentials[i]);
	}
	return rc;
}

static bool
is_configured(const struct finder *f, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < f->env->n; i++)
		if (strncmp(f->env->v[i], name, n) == 0 && f->env->v[i][n] == '=')
			return true;
	return false;
}

static int
use(struct finder *f, size_t which)
{
	const struct toolchain *t = &toolchains[which];
	char path[ATS_PATH_MAX];
	int rc = 0;

	if (f->used[which])
		return 0;
	f->used[which] = true;
	for (size_t i = 0; rc == 0 && i < ROOTS_MAX && t->roots[i] != NULL; i++)
		rc = grant(f, t->roots[i]);
	for (size_t i = 0; rc == 0 && i < MASKS_MAX && t->masks[i] != NULL; i++)
		rc = ats_buf_addf(f->out, "mask=%s/%s\n", f->home, t->masks[i]);
	for (size_t i = 0; rc == 0 && i < VARS_MAX && t->vars[i].name != NULL; i++) {
		(void)snprintf(path, sizeof(path), "%.2000s/%s", f->home, t->vars[i].when);
		if (is_dir(path) && !is_configured(f, t->vars[i].name))
			rc = ats_buf_addf(f->out, "env=%s=%s/%s\n", t->vars[i].name, f->home,
			    t->vars[i].dir);
	}
	return rc;
}

/* One directory of PATH, normalised. */
static int
look_up(struct finder *f, const char *dir)
{
	const char *below = ats_path_below(f->home, dir);
	size_t n = strlen(f->path);

	if (below == NULL || strchr(dir, '\n') != NULL || !is_dir(dir))
		return 0;
	for (size_t i = 0; i < ATS_ARRAY_LEN(toolchains); i++) {
		if (!ats_path_is_within(toolchains[i].bin, below))
			continue;
		if (n + strlen(dir) + 2 > sizeof(f->path) - sizeof(DEFAULT_PATH))
			return 0;
		(void)snprintf(f->path + n, sizeof(f->path) - n, "%s:", dir);
		return use(f, i);
	}
	return 0;
}

int
toolchains_lines(const struct ats_homes *homes, const char *home, const char *path,
    const struct ats_conf_strv *env, struct ats_buf *out)
{
	struct finder f = { .homes = homes, .env = env, .out = out };
	char base[ATS_PATH_MAX], dir[ATS_PATH_MAX], one[ATS_PATH_MAX];
	int rc = 0;

	if (home == NULL || path == NULL || strchr(home, '\n') != NULL ||
	    ats_path_join("/", home, base, sizeof(base)) < 0 || home[0] != '/' ||
	    strcmp(base, "/") == 0)
		return 0;
	f.home = base;
	for (size_t n; rc == 0 && *path != '\0'; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (*path != '/' || n >= sizeof(one))
			continue;	/* a relative one is another in each directory */
		(void)snprintf(one, sizeof(one), "%.*s", (int)n, path);
		if (ats_path_join("/", one, dir, sizeof(dir)) == 0)
			rc = look_up(&f, dir);
	}
	if (rc < 0 || f.path[0] == '\0' || is_configured(&f, "PATH"))
		return rc;
	return ats_buf_addf(out, "env=PATH=%s%s\n", f.path, DEFAULT_PATH);
}
