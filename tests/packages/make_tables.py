import numpy as np, pandas as pd, matplotlib, matplotlib.pyplot as plt, io, datetime
pd.set_option("mode.max_threads",1)
DENY=set("""
ctypes data base tofile tobytes_ dump dumps setflags getfield setfield view byteswap newbyteorder resize strides flags_ device to_device itemset
to_pickle to_sql to_hdf to_feather to_orc to_parquet to_clipboard to_excel to_gbq to_xml to_stata to_xarray to_iceberg to_records to_markdown style eval_ from_arrow array
memory_ plot_ sparse list struct
register register_cmap get_cmap_ 
baseclass index_class construct_array_type ArtistList InvertedPolarTransform PolarAffine PolarTransform RadialLocator ThetaFormatter ThetaLocator flags sticky_edges colorizer codes drawStyles lineStyles markers coefs type
set_picker pick pick_event add_callback remove_callback callbacks pchanged mouseover get_cursor_data format_cursor_data set_agg_filter get_agg_filter set_sketch_params canvas manager stale_callback draw_artist set_transform_ connect mpl_connect show waitforbuttonpress ginput set_snap
add_axobserver contains set_figure figure_ get_figure_ findobj properties update update_from set_path_effects_ set_url get_url set_gid get_gid
bit_generator spawn
mro
""".split())
d={}
f=pd.DataFrame({"_g":["a","b"],"_x":[1.,2]}); s=f["_x"]; t=pd.DataFrame({"_x":[1.]},index=pd.date_range("2024",periods=1))
fig,ax=plt.subplots(); 
objs=[f,s,f["_g"],np.arange(3.),np.float64(1),np.int64(1),np.bool_(True),np.str_("a"),np.datetime64("2024-01-01"),np.timedelta64(1,"D"),np.dtype(float),np.random.default_rng(0),np.random.RandomState(0),np.poly1d([1]),np.add,np.ma.array([1]),np.finfo(float),np.iinfo(int),np.flatiter,
 f.index,f.columns,pd.Index([1]),t.index,pd.MultiIndex.from_tuples([(1,2)]),pd.CategoricalIndex(["a"]),pd.timedelta_range("1D",periods=1),pd.period_range("2024",periods=1),pd.interval_range(0,1),
 f.groupby("_g"),f.groupby("_g")["_x"],f.rolling(1),s.rolling(1),s.expanding(),s.ewm(span=2),t.resample("D"),s.rolling(1) ,f.groupby("_g").rolling(1),
 f.loc,f.iloc,f.at,f.iat,f["_g"].str,pd.Series(t.index).dt,pd.Series(t.index-t.index[0]).dt,f["_g"].astype("category").cat,f.plot,s.plot,
 pd.Timestamp("2024"),pd.Timedelta("1D"),pd.Period("2024"),pd.Interval(0,1),pd.NaT,pd.NA,pd.offsets.MonthEnd(),pd.offsets.Day(),pd.CategoricalDtype(),pd.Int64Dtype(),pd.StringDtype(),pd.DatetimeTZDtype(tz="UTC"),pd.Categorical(["a"]),pd.array([1]),pd.array([True]),pd.array([1.5]),pd.array(["a"]),t.index.array,f["_g"].array, pd.Series([datetime.time]).array,
 pd.Grouper(key="_g"),pd.NamedAgg("x","mean"),
 plt.figure().add_subplot(projection='3d'),plt.figure().add_subplot(projection='polar'),plt.figure().add_subplot(projection='3d').plot_surface(*np.meshgrid([1,2],[1,2]), np.eye(2)),np.polynomial.Polynomial([1]),ax.hist([1])[2],ax.stackplot([1,2],[1,2])[0],ax.violinplot([1,2,3])['bodies'][0],ax.quiver([0],[0],[1],[1]),ax.pcolormesh([[1.]]),ax.table([['a']]),fig.axes[0].get_position(),pd.api.indexers.BaseIndexer(),f.groupby('_g').plot,f.describe().columns,t.resample('D')['_x'],fig,ax,ax.xaxis,ax.yaxis,ax.spines,ax.spines["left"],ax.plot([1])[0],ax.bar([1],[1]),ax.bar([1],[1])[0],ax.scatter([1],[1]),ax.legend(),ax.text(0,0,"a"),ax.annotate("a",(0,0)),ax.imshow([[1]]),ax.title,ax.xaxis.get_major_ticks()[0],ax.transAxes,plt.GridSpec(1,1),fig.colorbar(ax.images[0]),ax.errorbar([1],[1],yerr=1),ax.contour([[1,2],[3,4]]),ax.fill_between([1],[1]),ax.axhspan(0,1),ax.pie([1]),ax.boxplot([1]),plt.get_cmap("viridis"),plt.Normalize(0,1),
]
out={}
for o in objs:
    k=o if isinstance(o,type) else type(o)
    if k.__module__=="builtins": continue
    key=f"{k.__module__}:{k.__qualname__}"
    out[key]=sorted(n for n in set(dir(k))|set(dir(o) if not isinstance(o,type) else ()) if not n.startswith("_") and (n not in DENY or (n in ("contains","get_bbox") and "pandas" in key)))
with open("/work/wt/kdata/rlm_secure/guest/packages/tables.py","w") as w:
    w.write('"""The public names that a cell may read on objects of each class, chosen one by one."""\n\nfrom __future__ import annotations\n\nimport re\n\n#: "module:class" -> names. Whatever a newer version adds stays closed until it is listed.\nNAMES: dict[str, str] = {\n')
    for k,v in out.items():
        w.write(f'    "{k}": (\n')
        line=""
        for n in v:
            if len(line)+len(n)>100: w.write(f'        "{line}"\n'); line=""
            line+=n+" "
        w.write(f'        "{line.strip()}"\n    ),\n')
    w.write("}\n")
    def mod(name,m,deny):
        v=[n for n in dir(m) if not n.startswith("_") and type(getattr(m,n)).__name__!="module" and n not in deny]
        w.write(f'{name} = (\n'); line=""
        for n in v:
            if len(line)+len(n)>100: w.write(f'    "{line}"\n'); line=""
            line+=n+" "
        w.write(f'    "{line.strip()}"\n)\n')
        return v
    npd=set("load save savez savez_compressed memmap fromfile loadtxt genfromtxt savetxt fromregex frombuffer from_dlpack ndarray recarray record nditer ndenumerate_ nested_iters vectorize_ frompyfunc get_include show_config show_runtime info test seterrcall geterrcall setbufsize getbufsize set_printoptions errstate seterr geterr get_printoptions source lookfor byte_bounds may_share_memory shares_memory asmatrix bmat matrix r_ c_ s_ mgrid ogrid index_exp broadcast lib core ctypeslib distutils f2py testing void_ object_ flatiter busdaycalendar typename mintypecode  fromiter_ require fromstring typing sctypeDict typecodes TooHardError set_string_function interp_ put_along_axis_ ufunc dtypes exceptions printoptions  datetime_data  little_endian".split())
    mod("NUMPY",np,npd)
    mod("LINALG",np.linalg,{"LinAlgError_","test"}); mod("FFT",np.fft,{"test"}); mod("RANDOM",np.random,{"test","BitGenerator","MT19937","PCG64","PCG64DXSM","Philox","SFC64","SeedSequence","get_bit_generator","set_bit_generator","get_state","set_state"})
    pdd=set("read_pickle to_pickle read_sql read_sql_query read_sql_table read_hdf HDFStore read_feather read_orc read_parquet read_clipboard read_excel ExcelFile ExcelWriter read_gbq read_xml read_stata read_sas read_spss read_html read_iceberg eval set_option get_option reset_option describe_option option_context options set_eng_float_format show_versions test api errors_ arrays_ io plotting_ tseries testing util Flags col".split())
    mod("OFFSETS",pd.offsets,set())
    mod("PANDAS",pd,pdd)
    pl=set("show ion ioff ginput waitforbuttonpress pause switch_backend connect disconnect get_current_fig_manager new_figure_manager figimage_ imread imsave rc rcParams rcParamsDefault rcParamsOrig rc_context rcdefaults rc_params register_cmap set_loglevel install_repl_displayhook uninstall_repl_displayhook draw_if_interactive isinteractive interactive get_plot_commands findobj style cast threading sys functools importlib inspect logging re time np matplotlib cbook cycler ExitStack Enum  TYPE_CHECKING annotations REPL_DISPLAYHOOK FigureCanvasBase FigureManagerBase MouseButton Artist Annotation Arrow  Button Slider Widget LassoSelector SubplotTool subplot_tool FuncFormatter_ FormatStrFormatter_ AxLine  Callable Hashable  Iterable Sequence Any BinaryIO Literal Path IO NoReturn ABC overload cast TypeVar ParamSpec Generator EngFormatter_ backends gcf_ savefig setp getp get xkcd  figlegend_ polar_ hot  box_  get_backend  register_backend  backend_registry RcParams bytescale  text_ style_ colormaps color_sequences subplot_tool thetagrids_ rgrids_ rcsetup  minorticks_on_ clf_ Gcf  rcParamsOrig mlab  switch_backend triplot_  ".split())
    mod("PYPLOT",plt,pl)
import os; print(os.path.getsize("/work/wt/kdata/rlm_secure/guest/packages/tables.py"), len(out))
from rlm_secure.guest.packages import tables
